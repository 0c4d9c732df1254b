//! Decisions of a host about plugins, for all hosts of the database.

use toolhost_store::{Quarantine, Switch};

use crate::Shared;
use crate::database::{Values, run};
use crate::error::Fault;
use crate::listen::{CHANNEL, Message};
use crate::records::TELL;

impl Shared {
    /// Stores that a plugin was turned on or off.
    pub(crate) async fn put_switch(&self, switch: &Switch) -> Result<(), Fault> {
        const PUT: &str = "INSERT INTO toolhost.switches SELECT $2, $3, $4, $5 WHERE toolhost.has_lease($1) \
             ON CONFLICT (plugin, configured) DO UPDATE SET enabled = $4, principal = $5";
        let values: &Values<'_> = &[
            &switch.plugin,
            &switch.configured,
            &switch.enabled,
            &switch.principal,
        ];
        let by = self.lease.host();
        self.change(PUT, values, Some(Message::Switched { by }))
            .await
    }

    /// Returns the plugins that were turned on or off.
    pub(crate) async fn switches(&self) -> Result<Vec<Switch>, Fault> {
        const ALL: &str = "SELECT plugin, configured, enabled, principal FROM toolhost.switches";
        run!(self.database, connection => {
            let rows = connection.query(ALL, &[]).await?;
            let switches = rows.iter().map(|row| {
                Ok(Switch {
                    plugin: row.try_get(0)?,
                    configured: row.try_get(1)?,
                    enabled: row.try_get(2)?,
                    principal: row.try_get(3)?,
                })
            });
            switches.collect()
        })
    }

    /// Tells the other hosts that a plugin was quarantined.
    pub(crate) async fn tell_quarantine(&self, quarantine: &Quarantine) -> Result<(), Fault> {
        let message = Message::Quarantined {
            by: self.lease.host(),
            plugin: quarantine.plugin.clone(),
            sha256: quarantine.sha256.clone(),
            milliseconds: u64::try_from(quarantine.lasts.as_millis()).unwrap_or(u64::MAX),
        };
        let message = message.to_json();
        run!(self.database, connection => {
            connection.query(TELL, &[&CHANNEL, &message]).await?;
            Ok(())
        })
    }
}
