//! A script does what many calls do, with less in the context of the model.

use super::tasks::{self, Done};
use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn twenty_tasks_by_calls_and_by_scripts_end_equally_and_scripts_cost_less() {
    let setup = Setup::with(tasks::plugins).await;
    let root = setup.root();
    let tasks = tasks::all();
    assert_eq!(tasks.len(), 20);
    let mut less = (0, 0);
    for task in &tasks {
        let directly = task.directly(&setup.host, &root).await;
        let by_script = task.by_script(&setup.host, &root).await;
        let (name, Done { cost, .. }) = (task.name, &directly);
        assert_eq!(by_script.answer, directly.answer, "{name}");
        assert_eq!(by_script.files, directly.files, "{name}");
        assert_ne!(by_script.answer, Value::Null, "{name}");
        let of_script = &by_script.cost;
        assert_eq!(of_script.calls, 1);
        assert!(cost.calls > 1, "{name}: {cost:?}");
        assert!(
            of_script.bytes < cost.bytes,
            "{name}: {cost:?} {of_script:?}"
        );
        less = (less.0 + cost.bytes, less.1 + of_script.bytes);
    }
    // Over all tasks, it is a small part of the bytes.
    assert!(less.1 * 5 < less.0, "{less:?}");
}
