//! Tests of policies that cannot be applied completely, and of their reports.

use toolhost_needs::needs;
use toolhost_sandbox::{Mode, Network, PrepareError, Sandbox};

use crate::fixture::{Fixture, SECRET, User, support};

#[test]
fn off_changes_nothing() {
    let mut fixture = Fixture::new(User::Own);
    fixture.policy.mode = Mode::Off;
    assert_eq!(fixture.works("cat $OUTSIDE/secret"), SECRET);
    assert_eq!(
        fixture.works("grep -c NoNewPrivs:.0 /proc/self/status"),
        "1"
    );
    let sandbox = Sandbox::prepare(&fixture.policy, &fixture.places, support(), None).unwrap();
    assert_eq!(sandbox.descriptors().count(), 0);
    assert!(
        sandbox
            .report()
            .to_string()
            .contains("whatever the host's user may")
    );
}

#[test]
fn what_is_required_and_missing_is_an_error() {
    let mut fixture = Fixture::new(User::Own);
    fixture.policy.required = true;
    let prepare =
        |fixture: &Fixture| Sandbox::prepare(&fixture.policy, &fixture.places, support(), None);
    fixture.policy.network = Network::Hosts(vec!["a.example".to_owned()]);
    let error = prepare(&fixture).unwrap_err();
    assert!(error.to_string().contains("the listed hosts"), "{error}");
    fixture.policy.network = Network::All;
    std::fs::create_dir(fixture.path("work/.git")).unwrap();
    fixture.places.never.push(fixture.path("work/.git"));
    let error = prepare(&fixture).unwrap_err();
    assert!(error.to_string().contains("work/.git"), "{error}");
    fixture.policy.required = false;
    let report = prepare(&fixture).unwrap().report().to_string();
    assert!(report.contains("MISSING: commands can reach"), "{report}");
}

#[test]
fn a_workspace_that_must_not_be_reached_is_an_error() {
    let mut fixture = Fixture::new(User::Own);
    fixture.places.workspace = vec![fixture.path("state")];
    let error = Sandbox::prepare(&fixture.policy, &fixture.places, support(), None).unwrap_err();
    assert!(matches!(error, PrepareError::Forbidden(_)), "{error}");
}

#[test]
fn a_machine_without_layers_is_reported() {
    let mut fixture = Fixture::new(User::Own);
    let mut support = support().clone();
    support.landlock = Err("no".to_owned());
    support.seccomp = Err("no".to_owned());
    let sandbox = Sandbox::prepare(&fixture.policy, &fixture.places, &support, None).unwrap();
    assert_eq!(sandbox.report().missing.len(), 2, "{}", sandbox.report());
    fixture.policy.required = true;
    assert!(Sandbox::prepare(&fixture.policy, &fixture.places, &support, None).is_err());
}

/// The bounding set limits the capabilities of root's programs.
#[needs(root)]
#[test]
fn root_keeps_only_harmless_capabilities() {
    let fixture = Fixture::new(User::Own);
    let status = fixture.works("grep -E 'Cap(Eff|Bnd|Prm)' /proc/self/status");
    let sys_admin = 1_u64 << 21;
    for line in status.lines() {
        let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(mask & sys_admin, 0, "{line}");
        assert_ne!(mask, 0, "{line}");
    }
}
