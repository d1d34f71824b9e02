//! The macro around [`Select`](super::Select).

/// Waits for one of several channels, and carries out one operation.
///
/// The arms are `recv(receiver) -> result => body` and `send(sender, message) -> result => body`.
/// If several would not wait, one of them is chosen at random. The message of a send is evaluated
/// only when that arm is chosen and has its room, or its partner: see
/// [`SelectedOperation`](crate::channel::SelectedOperation). With an arm `default => body` the
/// macro doesn't wait, and with `default(timeout) => body` it waits for at most `timeout`. For a
/// changing number of channels there is [`Select`](crate::channel::Select).
///
/// ```
/// use std::time::Duration;
/// use corelane::channel::{bounded, select};
///
/// let (requests, next_request) = bounded(8);
/// let (stop, stopped) = bounded::<()>(1);
/// requests.send("work").unwrap();
/// select! {
///     recv(next_request) -> request => assert_eq!(request, Ok("work")),
///     recv(stopped) -> _ => unreachable!("nobody has said stop"),
///     default(Duration::from_secs(1)) => unreachable!("there was a request"),
/// }
/// # drop(stop);
/// ```
#[macro_export]
macro_rules! select {
    ($($arms:tt)*) => {
        $crate::__select!(@parse new [] [] $($arms)*)
    };
}

/// As [`select!`](crate::select), but if several operations would not wait, the first one is
/// carried out.
#[macro_export]
macro_rules! select_biased {
    ($($arms:tt)*) => {
        $crate::__select!(@parse new_biased [] [] $($arms)*)
    };
}

/// Parses the arms, borrows all handles, and tells which arm it is by counting.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    (@parse $new:ident [$($arms:tt)*] [$($default:tt)*]) => {
        $crate::__select!(@borrow $new [] [$($arms)*] [$($default)*])
    };

    (@parse $new:ident $arms:tt [] default $(())? => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $new $arms [try_select() $body] $($($rest)*)?)
    };
    (@parse $new:ident $arms:tt [] default $(())? => $body:block $($rest:tt)*) => {
        $crate::__select!(@parse $new $arms [try_select() $body] $($rest)*)
    };
    (@parse $new:ident $arms:tt [] default $(())? => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $new $arms [try_select() $body] $($($rest)*)?)
    };
    (@parse $new:ident $arms:tt [] default($timeout:expr $(,)?) => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $new $arms [select_timeout($timeout) $body] $($($rest)*)?)
    };
    (@parse $new:ident $arms:tt [] default($timeout:expr $(,)?) => $body:block $($rest:tt)*) => {
        $crate::__select!(@parse $new $arms [select_timeout($timeout) $body] $($rest)*)
    };
    (@parse $new:ident $arms:tt [] default($timeout:expr $(,)?) => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $new $arms [select_timeout($timeout) $body] $($($rest)*)?)
    };

    (@parse $new:ident [$($arms:tt)*] $default:tt $kind:ident $what:tt $(-> $result:pat)? => $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $new [$($arms)* ($kind $what ($($result)?) $body)] $default $($($rest)*)?)
    };
    (@parse $new:ident [$($arms:tt)*] $default:tt $kind:ident $what:tt $(-> $result:pat)? => $body:block $($rest:tt)*) => {
        $crate::__select!(@parse $new [$($arms)* ($kind $what ($($result)?) $body)] $default $($rest)*)
    };
    (@parse $new:ident [$($arms:tt)*] $default:tt $kind:ident $what:tt $(-> $result:pat)? => $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@parse $new [$($arms)* ($kind $what ($($result)?) $body)] $default $($($rest)*)?)
    };
    (@parse $($wrong:tt)*) => {
        ::core::compile_error!(
            "an arm of `select!` is `recv(receiver) -> result => body`, `send(sender, message) -> result => body`, \
             `default => body` or `default(timeout) => body`"
        )
    };

    // Each expansion has a `handle` of its own.
    (@borrow $new:ident [$($done:tt)*] [(recv ($receiver:expr $(,)?) ($result:pat) $body:expr) $($arms:tt)*] $default:tt) => {
        match &$receiver {
            handle => $crate::__select!(@borrow $new [$($done)* (recv handle () $result, $body)] [$($arms)*] $default),
        }
    };
    (@borrow $new:ident [$($done:tt)*] [(send ($sender:expr, $message:expr $(,)?) ($result:pat) $body:expr) $($arms:tt)*] $default:tt) => {
        match &$sender {
            handle => $crate::__select!(@borrow $new [$($done)* (send handle ($message) $result, $body)] [$($arms)*] $default),
        }
    };
    (@borrow $new:ident [$($done:tt)*] [$wrong:tt $($arms:tt)*] $default:tt) => {
        $crate::__select!(@parse wrong)
    };

    (@borrow $new:ident [$(($kind:ident $handle:ident $message:tt $result:pat, $body:expr))*] [] []) => {{
        let selected = {
            #[allow(unused_mut, reason = "if there is no arm")]
            let mut select = $crate::channel::Select::$new();
            $(select.$kind($handle);)*
            select.select()
        };
        $crate::__select!(@arms selected (0) $(($kind $handle $message $result, $body))*)
    }};
    (@borrow $new:ident [$(($kind:ident $handle:ident $message:tt $result:pat, $body:expr))*] [] [$wait:ident $arguments:tt $default:expr]) => {{
        let selected = {
            #[allow(unused_mut, reason = "if there is no arm")]
            let mut select = $crate::channel::Select::$new();
            $(select.$kind($handle);)*
            select.$wait $arguments
        };
        match selected {
            ::core::result::Result::Ok(selected) => {
                $crate::__select!(@arms selected (0) $(($kind $handle $message $result, $body))*)
            }
            ::core::result::Result::Err(_) => $default,
        }
    }};

    (@arms $selected:ident $index:tt) => {{
        let _ = $selected;
        ::core::unreachable!("one of the arms was selected")
    }};
    (@arms $selected:ident ($index:expr) ($kind:ident $handle:ident ($($message:expr)?) $result:pat, $body:expr) $($arms:tt)*) => {
        if $selected.index() == $index {
            let result = $selected.$kind($handle $(, $message)?);
            let $result = result;
            $body
        } else {
            $crate::__select!(@arms $selected ($index + 1) $($arms)*)
        }
    };
}
