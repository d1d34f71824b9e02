//! Programs that could end their process, or wait for ever: each runs in a process of its own, on
//! its main thread.

#[cfg(target_os = "linux")]
#[path = "processes/"]
mod programs {
    pub mod destructors;
    pub mod forked;
    pub mod nested;
    pub mod thread_ends;
    pub mod threads_refused;
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    use std::env;
    use std::process::{Command, exit};
    use std::thread;
    use std::time::{Duration, Instant};

    use programs::{destructors, forked, nested, thread_ends, threads_refused};

    const PROGRAM: &str = "CORELANE_TEST_PROGRAM";
    /// The time after which a program is taken to wait for ever.
    const LIMIT: Duration = Duration::from_secs(20);

    let all = [
        destructors::PROGRAMS,
        forked::PROGRAMS,
        nested::PROGRAMS,
        thread_ends::PROGRAMS,
        threads_refused::PROGRAMS,
    ];
    if let Ok(wanted) = env::var(PROGRAM) {
        let programs = || all.iter().copied().flatten();
        let (_, program) = programs().find(|(name, _)| *name == wanted).expect("it is listed");
        return program();
    }
    let filters: Vec<_> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut failed = false;
    for (name, _) in all.iter().copied().flatten() {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
            continue;
        }
        let program = env::current_exe().expect("it has a path");
        let mut command = Command::new(program);
        command.env(PROGRAM, name).env("RUST_BACKTRACE", "0");
        let mut child = command.spawn().expect("there are processes");
        let begin = Instant::now();
        let outcome = loop {
            match child.try_wait().expect("it is a child") {
                Some(status) if status.success() => break "ok".into(),
                Some(status) => break format!("FAILED, {status}"),
                None if begin.elapsed() > LIMIT => {
                    child.kill().expect("it is a child");
                    child.wait().expect("it is a child");
                    break "FAILED, it waits for ever".into();
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        println!("test {name} ... {outcome}");
        failed |= outcome != "ok";
    }
    if failed {
        exit(1);
    }
}
