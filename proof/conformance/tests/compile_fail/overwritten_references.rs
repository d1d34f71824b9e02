//! error[E0277]: is not plain data

fn main() {
    corelane::overwrite::queue::<&'static str>(8).unwrap();
}
