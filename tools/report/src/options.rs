//! Options that several commands have, and their values.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

/// Files for the results, besides the terminal.
#[derive(Debug, Clone, Default, Args)]
pub struct FileArgs {
    /// Write the results as JSON; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write a report that opens in any browser, in one file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A whole number that isn't 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positive(pub usize);

impl FromStr for Positive {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(0) => Err("choose 1 or more".into()),
            Ok(number) => Ok(Self(number)),
            Err(_) => Err("give a whole number from 1".into()),
        }
    }
}

/// A real number above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PositiveReal(pub f64);

impl fmt::Display for PositiveReal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for PositiveReal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if number > 0.0 && f64::is_finite(number) => Ok(Self(number)),
            _ => Err("give a number above 0".into()),
        }
    }
}

/// A length of time above 0, with its unit.
///
/// # Errors
///
/// If `text` is not a length of time; the message shows how to write one.
pub fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(length) if !length.is_zero() => Ok(length),
        _ => Err("give a time above 0 with its unit, such as 500us, 30ms or 2s".into()),
    }
}

/// The name of a value on command lines and in results.
pub fn name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Accepts only `values` on a command line.
pub fn one_of<V>(values: &[V]) -> impl TypedValueParser<Value = V> + use<V>
where
    V: ValueEnum + Clone + Send + Sync + 'static,
{
    let values: Vec<_> = values.iter().filter_map(V::to_possible_value).collect();
    let parser = PossibleValuesParser::new(values);
    parser.map(|text| V::from_str(&text, false).expect("it is one of them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units() {
        assert_eq!(duration("30ms"), Ok(Duration::from_millis(30)));
        for wrong in ["30", "ms", "0s", "-1s", ""] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
