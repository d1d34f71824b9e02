//! The executors that are measured.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use corelane_executor::JoinHandle;

use super::{Executor, Measurable, Tasks, entry, measure};
use crate::catalogue::EntryKind;
use crate::suite::executor::ExecutorSetting;

pub(super) fn entries() -> Vec<Measurable> {
    let ours = EntryKind::Ours { items: "tasks" };
    let name = ("corelane-executor", "on block-based work stealing");
    let ours = entry(name, ours, measure::<Ours>, runs_tasks);
    [ours].into_iter().chain(peers::entries()).collect()
}

/// Executors don't fork and join.
fn runs_tasks(setting: &ExecutorSetting) -> bool {
    setting.computation.is_none()
}

/// Awaits a task, and expects that it doesn't panic.
pub(crate) struct Joined<J>(J);

impl<J: Future<Output = Result<(), E>> + Unpin, E: std::fmt::Debug> Future for Joined<J> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(context).map(|output| output.expect("kernels don't panic"))
    }
}

/// corelane's.
struct Ours(corelane_executor::Executor);

/// The executor of the calling task.
#[derive(Clone)]
struct OfTask;

impl Executor for Ours {
    type Tasks = OfTask;

    fn start(workers: usize) -> Self {
        Self(corelane_executor::Executor::new(workers).expect("the system has threads"))
    }

    fn tasks(&self) -> OfTask {
        OfTask
    }

    fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.block_on(Joined(self.0.spawn(task)));
    }
}

impl Tasks for OfTask {
    type Join = Joined<JoinHandle<()>>;

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Join {
        Joined(corelane_executor::spawn(task))
    }

    fn detach(join: Self::Join) {
        drop(join);
    }
}

mod peers {
    use std::future::Future;
    use std::sync::Arc;
    use std::thread;

    use async_executor::Task;
    use futures_lite::future::block_on;
    use tokio::runtime::{Builder, Runtime};
    use tokio::task::JoinHandle;

    use super::{Executor, Joined, Measurable, Tasks, entry, measure, runs_tasks};
    use crate::peers::crates::kind;

    pub(super) fn entries() -> Vec<Measurable> {
        let tokio = || kind("tokio");
        vec![
            entry(("tokio", "multi-thread"), tokio(), measure::<Tokio>, runs_tasks),
            entry(
                ("tokio-current", "current-thread"),
                tokio(),
                measure::<TokioCurrent>,
                |setting| runs_tasks(setting) && setting.workers == 1,
            ),
            entry(
                ("async-executor", "of smol"),
                kind("async-executor"),
                measure::<Smol>,
                runs_tasks,
            ),
        ]
    }

    struct Tokio(Runtime);

    /// Tokio's, of the calling task.
    #[derive(Clone)]
    struct OfTokio;

    impl Executor for Tokio {
        type Tasks = OfTokio;

        fn start(workers: usize) -> Self {
            let runtime = Builder::new_multi_thread().worker_threads(workers).build();
            Self(runtime.expect("the system has threads"))
        }

        fn tasks(&self) -> OfTokio {
            OfTokio
        }

        fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
            self.0.block_on(Joined(self.0.spawn(task)));
        }
    }

    struct TokioCurrent(Runtime);

    impl Executor for TokioCurrent {
        type Tasks = OfTokio;

        fn start(_: usize) -> Self {
            let runtime = Builder::new_current_thread().build();
            Self(runtime.expect("the system has threads"))
        }

        fn tasks(&self) -> OfTokio {
            OfTokio
        }

        fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
            self.0.block_on(Joined(self.0.spawn(task)));
        }
    }

    impl Tasks for OfTokio {
        type Join = Joined<JoinHandle<()>>;

        fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Join {
            Joined(tokio::spawn(task))
        }

        fn detach(join: Self::Join) {
            drop(join);
        }
    }

    type Shared = Arc<async_executor::Executor<'static>>;

    /// The executor of smol, with threads as its pages show.
    struct Smol {
        executor: Shared,
        workers: usize,
    }

    impl Executor for Smol {
        type Tasks = Shared;

        fn start(workers: usize) -> Self {
            Self { executor: Arc::default(), workers }
        }

        fn tasks(&self) -> Shared {
            Arc::clone(&self.executor)
        }

        fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
            let (end, ended) = async_channel::bounded::<()>(1);
            thread::scope(|scope| {
                for _ in 0..self.workers {
                    let (executor, ended) = (&self.executor, ended.clone());
                    scope.spawn(move || block_on(executor.run(ended.recv())));
                }
                block_on(self.executor.spawn(task));
                drop(end);
            });
        }
    }

    impl Tasks for Shared {
        type Join = Task<()>;

        fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task<()> {
            async_executor::Executor::spawn(self, task)
        }

        fn detach(join: Task<()>) {
            join.detach();
        }
    }
}
