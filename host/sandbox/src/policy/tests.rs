//! Tests of policies: their texts, and that none can be widened.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn the_defaults_are_those_of_the_configuration() {
    let policy: Policy = serde_json::from_value(json!({})).unwrap();
    assert_eq!(policy, Policy::default());
    let written = serde_json::to_value(&policy).unwrap();
    let limits = json!({"memory": "none", "processes": 1024, "file_size": "none", "cpu": "none"});
    assert_eq!(written["mode"], "workspace");
    assert_eq!(written["network"], "all");
    assert_eq!(written["limits"], limits);
    assert_eq!(written["required"], false);
}

#[test]
fn values_are_read_as_people_write_them() {
    let policy: Policy = serde_json::from_value(json!({
        "mode": "read-only",
        "network": ["GitHub.com.", "*.crates.example", "10.0.0.5:5432", "[::1]:80"],
        "limits": {"memory": "2 GiB", "cpu": "10min", "file_size": 4096, "processes": "none"},
    }))
    .unwrap();
    let hosts = [
        "github.com",
        "*.crates.example",
        "10.0.0.5:5432",
        "[::1]:80",
    ];
    assert_eq!(policy.mode, Mode::ReadOnly);
    assert_eq!(
        policy.network,
        Network::Hosts(hosts.map(str::to_owned).to_vec())
    );
    assert_eq!(
        policy.network.to_string().parse(),
        Ok(policy.network.clone())
    );
    assert_eq!(policy.limits.memory, Some(2 << 30));
    assert_eq!(policy.limits.cpu, Some(Duration::from_secs(600)));
    assert_eq!(policy.limits.file_size, Some(4096));
    assert_eq!(policy.limits.processes, None);
}

#[test]
fn mistakes_are_errors_that_say_what_to_write() {
    for (value, expected) in [
        (json!({"mode": "on"}), "read-only"),
        (json!({"network": "some"}), "\"none\""),
        (json!({"network": ["https://a.example"]}), "github.com"),
        (json!({"network": ["a.example:0"]}), "github.com"),
        (json!({"network": ["*"]}), "github.com"),
        (json!({"network": ["[::1"]}), "github.com"),
        (json!({"limits": {"memory": "much"}}), "2 GiB"),
        (json!({"limits": {"processes": 0}}), "above 0"),
        (json!({"limits": {"cpu": 10}}), "10min"),
        (json!({"reed": []}), "unknown field"),
    ] {
        let error = serde_json::from_value::<Policy>(value.clone()).unwrap_err();
        assert!(error.to_string().contains(expected), "{value}: {error}");
    }
    assert!("On".parse::<Mode>().is_err());
    assert!("".parse::<Network>().is_err());
}

fn hosts() -> impl Strategy<Value = Network> {
    let host = prop::sample::select(vec![
        "a.example",
        "*.example",
        "*.a.example",
        "b.a.example",
        "a.example:80",
        "*.example:80",
        "10.0.0.5",
        "[::1]:80",
    ]);
    prop_oneof![
        Just(Network::All),
        Just(Network::None),
        prop::collection::vec(host.prop_map(str::to_owned), 0..4).prop_map(Network::Hosts),
    ]
}

fn paths() -> impl Strategy<Value = Vec<PathBuf>> {
    let path = prop::sample::select(vec!["/a", "/a/b", "/a/b/c", "/ab", "/c", "/a/../c", "/"]);
    prop::collection::vec(path.prop_map(PathBuf::from), 0..4)
}

prop_compose! {
    fn limits()(
        memory: Option<u64>,
        processes in prop::option::of(1..9_u64),
        file_size: Option<u64>,
        cpu in prop::option::of(0..9_u64),
    ) -> Limits {
        Limits { memory, processes, file_size, cpu: cpu.map(Duration::from_secs) }
    }
}

fn mode() -> impl Strategy<Value = Mode> {
    prop::sample::select(vec![Mode::ReadOnly, Mode::Workspace, Mode::Off])
}

prop_compose! {
    fn policy()(
        (mode, network, limits) in (mode(), hosts(), limits()),
        required: bool, nested: bool,
        (read, write, sockets, never, protect) in (paths(), paths(), paths(), paths(), paths()),
    ) -> Policy {
        Policy { mode, required, read, write, sockets, never, network, limits, nested, protect, no_namespaces: false }
    }
}

prop_compose! {
    fn narrower()(mode in prop::option::of(mode()), network in prop::option::of(hosts())) -> Narrower {
        Narrower { mode, network }
    }
}

proptest! {
    #[test]
    fn no_wish_widens_a_policy(policy in policy(), wish in narrower(), next in narrower()) {
        let narrowed = policy.narrow(&wish);
        prop_assert!(narrowed.mode <= policy.mode);
        prop_assert!(narrowed.network.is_within(&policy.network), "{narrowed:?}");
        let rest = Policy { mode: policy.mode, network: policy.network.clone(), ..narrowed.clone() };
        prop_assert_eq!(rest, policy.clone());
        prop_assert_eq!(&narrowed.narrow(&wish), &narrowed);
        let both = policy.narrow(&wish.and(&next));
        let one_by_one = narrowed.narrow(&next);
        prop_assert_eq!(both.mode, one_by_one.mode);
        prop_assert!(both.network.is_within(&one_by_one.network), "{both:?} {one_by_one:?}");
        prop_assert!(one_by_one.network.is_within(&both.network), "{both:?} {one_by_one:?}");
    }

    #[test]
    fn an_empty_wish_changes_nothing(policy in policy()) {
        prop_assert_eq!(policy.narrow(&Narrower::default()), policy);
    }

    #[test]
    fn policies_read_back(policy in policy()) {
        let written = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(serde_json::from_str::<Policy>(&written).unwrap(), policy);
    }
}
