//! `lane bench pipeline`: packets through the stages of a pipeline, each stage on a thread of its
//! own, with a queue between two stages: paper 2, §5.3.
//!
//! The stages are those of `apps/pipeline`.

mod args;
pub mod check;
mod frames;
mod links;
mod measure;
mod plan;
mod setting;
mod traffic;

pub use self::args::PipelineArgs;
pub(crate) use self::links::Maker;
pub(crate) use self::setting::PipelineSetting;
