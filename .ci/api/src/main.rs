//! Prints the public interface that a file of rustdoc's JSON describes, an item a line.
//!
//! Items that a type has by implementing a trait are not listed: the line of the implementation
//! stands for them.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = std::env::args_os().nth(1).ok_or("name the file of rustdoc's JSON")?;
    let listing = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?
        .to_string();
    let mut members = None;
    for line in listing.lines() {
        if line.starts_with("impl") {
            let of_trait = line.split_once(" for ");
            members = of_trait.map(|(_, ty)| format!(" {}::", ty.split(" where ").next().unwrap_or(ty)));
        } else if members.as_ref().is_some_and(|members| line.contains(members)) {
            continue;
        }
        println!("{line}");
    }
    Ok(())
}
