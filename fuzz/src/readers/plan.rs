//! Plans, which are written beside volumes and read back.

use super::options::small;
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::ct::{Ct, Geometry};
use isocenter_program::plan::Plan;
use std::sync::{Arc, OnceLock};

/// On a thread of the processor.
fn context() -> &'static Arc<Context> {
    static CONTEXT: OnceLock<Arc<Context>> = OnceLock::new();
    let options = || ContextOptions { compute: Compute::Cpu, threads: 1, ..ContextOptions::default() };
    CONTEXT.get_or_init(|| Context::new(options()).map(Arc::new).expect("a context"))
}

/// Parses a plan, and sets the library up by it.
pub fn parsed(bytes: &[u8]) {
    let Ok(plan) = Plan::parse(&String::from_utf8_lossy(bytes)) else { return };
    let text = plan.text().expect("a plan's text");
    let again = Plan::parse(&text).expect("a plan's own text is a plan");
    assert_eq!(again.text().expect("a plan's text"), text);
    let scan = small(12);
    let mut ct = Ct::new(context().clone());
    ct.set_geometry(Geometry::new(scan.angles.clone(), 8).with_rows(3)).expect("a geometry");
    // Errors are in order, others are not.
    let _ = plan.set_up(&mut ct, &scan);
}
