//! Numbers for people: three significant digits.

/// `value` with about three significant digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        magnitude if magnitude >= 99.95 => format!("{value:.0}"),
        magnitude if magnitude >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// All numbers, with commas between them.
pub fn list(numbers: &[usize]) -> String {
    let texts: Vec<_> = numbers.iter().map(usize::to_string).collect();
    texts.join(", ")
}

/// `ratio` as a multiple, with three significant digits.
pub fn ratio(ratio: f64) -> String {
    format!("{}×", short(ratio))
}

/// `ratio` as a multiple, with two significant digits.
pub fn times(ratio: f64) -> String {
    if ratio >= 9.95 { format!("{ratio:.0}×") } else { format!("{ratio:.1}×") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_matter() {
        assert_eq!(
            [0.5, 2.345, 9.999, 42.123, 99.96, 1234.5].map(short),
            ["0.50", "2.35", "10.0", "42.1", "100", "1234"]
        );
    }
}
