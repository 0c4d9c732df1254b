//! Recovery of a damaged store.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolhost_store::{Durability, Recovered, Sqlite, StoreError};

use super::{Common, Place, patiently};

pub(super) async fn recover(common: &Common, place: Place) -> anyhow::Result<ExitCode> {
    let _lock = place.0.lock()?;
    let path = place.0.path().display().to_string();
    let recovered = patiently("recovering the store", move || {
        let problems = match place.file() {
            Ok(file) => file.check()?,
            Err(error) => match error.downcast::<StoreError>()? {
                StoreError::Damaged { problem, .. } => vec![problem],
                // The bytes that tell whose file it is may be damaged. If it is another program's, no call of it can be read.
                error @ StoreError::Foreign { .. } => vec![error.to_string()],
                error => return Err(error.into()),
            },
        };
        match problems.is_empty() {
            true => Ok(None),
            false => anyhow::Ok(Some((
                problems,
                Sqlite::recover(&place.0, Durability::Host)?,
            ))),
        }
    });
    let (text, problems, recovered) = match recovered.await?? {
        None => {
            let text = format!("{path}: nothing is wrong, so nothing was changed");
            (text, Vec::new(), None)
        }
        Some((problems, recovered)) => {
            let (text, object) = (report(&problems, &recovered), object(&recovered));
            (text, problems, Some(object))
        }
    };
    common.report(
        &text,
        &json!({ "state_dir": path, "problems": problems, "recovered": recovered }),
    )?;
    Ok(ExitCode::SUCCESS)
}

fn object(recovered: &Recovered) -> Value {
    json!({
        "calls": recovered.calls, "unknown": recovered.unknown, "is_complete": recovered.is_complete, "damaged": recovered.aside.to_string_lossy(),
    })
}

fn report(problems: &[String], recovered: &Recovered) -> String {
    let found: String = problems
        .iter()
        .map(|problem| format!("damage: {problem}\n"))
        .collect();
    let rest = match recovered.is_complete {
        true => "all of them were read",
        false => "some of them are lost",
    };
    format!(
        "{found}calls that were read: {}\n\
         calls that are unknown and do not run again: {}\n\
         processes, temporary files and sessions: {rest}\n\
         the damaged store: {} and the files beside it with that name; remove them when nothing in them is needed\n\
         until then, outputs of lost processes are kept in output/",
        recovered.calls,
        recovered.unknown,
        recovered.aside.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_is_lost_and_where_the_files_are() {
        let recovered = Recovered {
            aside: "/state/store.damaged-7.db".into(),
            calls: 5,
            unknown: 2,
            is_complete: false,
        };
        insta::assert_snapshot!(report(&["a page is torn".to_owned()], &recovered), @r"
        damage: a page is torn
        calls that were read: 5
        calls that are unknown and do not run again: 2
        processes, temporary files and sessions: some of them are lost
        the damaged store: /state/store.damaged-7.db and the files beside it with that name; remove them when nothing in them is needed
        until then, outputs of lost processes are kept in output/
        ");
    }
}
