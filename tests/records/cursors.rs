//! Reads by cursor against a model: any interleaving reproduces the stream or names an exact gap.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use toolhost_local::process::{Config, Limits, Process, SaveLimits};
use toolhost_store::HostState;
use toolhost_workspace::process::{Chunk, Saved, WINDOW};

use super::{TestRegistry, cases, finished, long, pattern, temporary};

/// How an output is saved.
#[derive(Clone, Copy, Debug)]
enum Saving {
    Complete,
    /// This many bytes of it.
    Capped(u64),
    /// Not at all: the place for it is gone.
    Failed,
}

impl Saving {
    fn any() -> impl Strategy<Value = Self> {
        let window = WINDOW as u64;
        let caps = prop::sample::select(vec![0, 1, window, 2 * window, 2 * window + 1]);
        prop_oneof![
            2 => Just(Self::Complete),
            1 => caps.prop_map(Self::Capped),
            2 => (0_u64..6 << 20).prop_map(Self::Capped),
            1 => Just(Self::Failed),
        ]
    }

    /// Whoever ages here ages at once.
    fn config(self, config: Config) -> Config {
        let limits = Limits {
            memory: Duration::ZERO,
            ..Limits::default()
        };
        let per_process = match self {
            Self::Capped(bytes) => bytes,
            _ => u64::MAX,
        };
        let save_limits = SaveLimits {
            per_process,
            ..SaveLimits::default()
        };
        Config {
            limits,
            save_limits,
            ..config
        }
    }

    /// A registry that saves so.
    fn registry(self) -> TestRegistry {
        let workspace = tempfile::tempdir().unwrap();
        let state = match self {
            Self::Failed => HostState::temporary(workspace.path().join("no/such/place")).unwrap(),
            _ => temporary(),
        };
        TestRegistry::open(workspace, |config| self.config(config), &state)
    }

    /// How many bytes from the start must stay readable of a total.
    fn saved(self, total: u64) -> u64 {
        match self {
            Self::Complete => total,
            Self::Capped(bytes) => bytes.min(total),
            Self::Failed => 0,
        }
    }
}

/// Checks what one read says. `aged` is whether memory has nothing of it any more, if all of it was saved: else the ends stay.
fn check(saving: Saving, since: u64, max: usize, chunk: &Chunk, aged: bool) {
    let freed = aged && saving.saved(chunk.total) == chunk.total;
    let end = chunk.offset + chunk.data.len() as u64;
    assert!(
        end <= chunk.total && chunk.data.len() <= max,
        "{since} {max}: {end}"
    );
    assert!(
        chunk.data == pattern(chunk.offset..end),
        "bytes of another place: {since} {max} {saving:?} {}",
        chunk.offset
    );
    assert!(!chunk.end || end == chunk.total);
    if since >= chunk.total {
        assert_eq!(end, chunk.total);
        return;
    }
    let in_memory = if freed {
        chunk.total
    } else {
        chunk.total.saturating_sub(WINDOW as u64)
    };
    if chunk.offset == since {
        assert!(
            !chunk.data.is_empty() || max == 0,
            "nothing at {since} {saving:?}"
        );
    } else {
        // A gap: neither memory nor the saved output has the byte, and memory has the one it is moved to.
        assert_eq!(chunk.offset, in_memory, "{since} {saving:?}");
        assert!(since >= saving.saved(chunk.total), "{since} {saving:?}");
        assert!(freed || since >= WINDOW as u64);
    }
}

/// Follows the output from a cursor to its end, in reads of some sizes, and jumps where the plan says so.
async fn follow(process: Arc<Process>, saving: Saving, plan: Vec<(usize, Option<u64>)>) {
    let (mut cursor, mut seen) = (0, 0);
    for (max, jump) in plan.into_iter().cycle() {
        let from = jump.map_or(cursor, |jump| jump % (seen + 1));
        let chunk = process.read(from, max).await;
        check(saving, from, max, &chunk, false);
        seen = seen.max(chunk.total);
        if jump.is_none() {
            // Every byte is read, or is in a gap that `check` found to be exact.
            assert!(chunk.offset >= cursor);
            cursor = chunk.offset + chunk.data.len() as u64;
            if chunk.end {
                return;
            }
        }
        if chunk.data.is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

fn plan() -> impl Strategy<Value = Vec<(usize, Option<u64>)>> {
    let max = prop_oneof![1_usize..100, 1_usize..5000, 1_usize..300_000];
    let step = (max, prop::option::weighted(0.3, any::<u64>()));
    // At least one step that goes on, or it would never end.
    prop::collection::vec(step, 0..6).prop_map(|mut plan| {
        plan.push((50_000, None));
        plan
    })
}

proptest! {
    #![proptest_config(cases(20))]
    #[test]
    fn any_interleaving_reproduces_the_stream_or_names_an_exact_gap(
        saving in Saving::any(),
        size in prop_oneof![0_u64..200_000, 2_u64 << 20..5 << 20],
        block in prop::sample::select(vec![4096_u32, 60_000, 65_536, 1 << 20]),
        plans in prop::collection::vec(plan(), 1..5),
        late in prop::collection::vec((any::<u64>(), 1_usize..300_000), 20),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(3)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let setup = saving.registry();
            setup.write("file", &pattern(0..size));
            let process = setup.start(&format!("dd if=file bs={block} status=none")).await;
            let readers = plans.into_iter().map(|plan| follow(Arc::clone(&process), saving, plan));
            let readers: Vec<_> = readers.map(tokio::spawn).collect();
            for reader in readers {
                reader.await.unwrap();
            }
            finished(&process).await;
            let before = process.snapshot().await;
            assert_eq!(before.total, size);
            assert_eq!(before.saved, match saving {
                Saving::Capped(bytes) if bytes < size => Saved::Partial(bytes),
                Saving::Failed if size > 0 => before.saved.clone(),
                _ => Saved::Complete,
            });
            assert_eq!(matches!(before.saved, Saved::Failed(_)), size > 0 && matches!(saving, Saving::Failed));
            for freed in [false, true] {
                if freed {
                    crate::harness::until("the process has exited", || (!process.state().is_live()).then_some(())).await;
                    setup.registry.tidy_up().await;
                }
                for (since, max) in &late {
                    let since = since % (size + 2);
                    let chunk = process.read(since, *max).await;
                    check(saving, since, *max, &chunk, freed);
                    assert_eq!(process.read(since, *max).await, chunk, "again");
                }
            }
            setup.registry.shutdown().await;
        });
    }
}

/// A reader that is behind while the disk is asked for what is on its way to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_a_cursor_returned_it_returns_again() {
    let setup = Saving::Complete.registry();
    setup.write("file", &pattern(0..8 << 20));
    let process = setup.start("cat file").await;
    let mut served = Vec::new();
    let mut cursor = 0;
    loop {
        let chunk = process.read(cursor, 100_003).await;
        check(Saving::Complete, cursor, 100_003, &chunk, false);
        cursor += chunk.data.len() as u64;
        let end = chunk.end;
        served.push(chunk);
        if end {
            break;
        }
        process
            .wait(&toolhost_workspace::process::WaitOptions {
                since: cursor,
                output: true,
                ..long()
            })
            .await
            .unwrap();
    }
    finished(&process).await;
    crate::harness::until("the process has exited", || {
        (!process.state().is_live()).then_some(())
    })
    .await;
    setup.registry.tidy_up().await;
    assert_eq!(cursor, 8 << 20);
    for chunk in served.iter().filter(|chunk| !chunk.data.is_empty()) {
        let again = process.read(chunk.offset, chunk.data.len()).await;
        assert!(
            again.offset == chunk.offset && again.data == chunk.data,
            "{}",
            chunk.offset
        );
    }
}
