//! corelane's queues and lanes for Python: the module `corelane._corelane`. The package's other
//! modules give it the interface that Python's users expect.
//!
//! No call holds the interpreter while it waits. A call that waits in the main thread returns to
//! the interpreter now and then, so that Ctrl-C works.

mod error;
mod fork;
mod items;
mod lane;
mod lent;
mod object;
mod patience;
mod queue;
mod ready;
mod sides;
mod tally;

use pyo3::prelude::*;

/// The module `corelane._corelane`.
#[pymodule(gil_used = false)]
fn _corelane(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<queue::Queue>()?;
    module.add_class::<lane::Lane>()?;
    module.add_class::<items::Items>()?;
    module.add_class::<tally::Tally>()?;
    module.add_class::<lent::Lent>()?;
    module.add_class::<lent::Claim>()?;
    module.add_function(wrap_pyfunction!(fork::before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(fork::after_fork_in_parent, module)?)?;
    module.add_function(wrap_pyfunction!(fork::after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(fork::close_all, module)?)?;
    Ok(())
}
