//! Every queue: a line here gives it tests, models, simulations and benchmarks.

/// Calls the macro `$with` once for each queue: `$with!(sides items id: Type)`.
///
/// `sides` is `single` for a queue between one producer and one consumer, which lend their slots
/// ([`SingleQueue`](crate::SingleQueue)), `shared` for a queue whose handles may be cloned, or
/// `relaxed` for such a queue whose items may leave [out of turn](crate::relaxed).
/// `items` is `any` if it carries items of any type, `token` for [tokens](crate::slot::Token) only,
/// `plain` for [plain data](crate::overwrite::Plain) only. `mcring-sane`, which starts a thread of
/// its own and exists only to be measured, is not in the list. Nor is
/// [`LcrqPoolAny`](crate::rings::pooled::LcrqPoolAny), which may be full with few items: tests of
/// its own check `lcrq_pool` by it.
#[macro_export]
macro_rules! for_each_queue {
    ($with:ident) => {
        $crate::compared! { $with!(single any lq: $crate::lamport::Lq); }
        $with!(single any llq: $crate::lamport::lazy::Llq);
        $with!(single any blq: $crate::lamport::batched::Blq);
        $with!(single token ffq: $crate::fast_forward::Ffq);
        $with!(single any ffq_any: $crate::fast_forward::FfqAny);
        $crate::compared! { $with!(single token ffq_slip: $crate::fast_forward::slipping::FfqSlip); }
        $crate::compared! { $with!(single any ffq_slip_any: $crate::fast_forward::slipping::FfqSlipAny); }
        $with!(single token iffq: $crate::fast_forward::improved::Iffq);
        $with!(single any iffq_any: $crate::fast_forward::improved::IffqAny);
        $with!(single token biffq: $crate::fast_forward::batched::Biffq);
        $with!(single any biffq_any: $crate::fast_forward::batched::BiffqAny);
        $crate::compared! { $with!(single any mcring: $crate::mc_ring::McRing); }
        $with!(single token bqueue: $crate::b_queue::BQueue);
        $with!(single any bqueue_any: $crate::b_queue::BQueueAny);
        $with!(single any linering: $crate::line_ring::LineRing);
        $with!(single any bbq_spsc: $crate::block::single::BbqSpsc);
        $with!(shared any bbq: $crate::block::shared::Bbq);
        $with!(shared any bbq_mpsc: $crate::block::one_consumer::BbqMpsc);
        $with!(shared any bbq_spmc: $crate::block::one_producer::BbqSpmc);
        $with!(shared any faaq: $crate::block::fetch_add::Faaq);
        $with!(shared any bbq_bytes: $crate::block::bytes::BbqBytes);
        $crate::compared! { $with!(shared any ring: $crate::ring::Ring<$crate::ring::InOrder>); }
        $crate::compared! { $with!(shared any ring_rts: $crate::ring::Ring<$crate::ring::RelaxedTail>); }
        $crate::compared! { $with!(shared any ring_hts: $crate::ring::Ring<$crate::ring::HeadTail>); }
        $with!(shared any leased: $crate::leased::Leased);
        $with!(shared any scq: $crate::scq::Scq);
        $with!(relaxed any cnq: $crate::relaxed::cnq::Cnq<$crate::block::fetch_add::Faaq>);
        $with!(relaxed any cnq_bbq: $crate::relaxed::cnq::Cnq<$crate::block::shared::Bbq>);
        $with!(relaxed any cnq_scq: $crate::relaxed::cnq::Cnq<$crate::scq::Scq>);
        $crate::compared! {
            $with!(relaxed any cnq_ring: $crate::relaxed::cnq::Cnq<$crate::ring::Ring<$crate::ring::InOrder>>);
        }
        $crate::compared! { $with!(shared any locked: $crate::locked::Locked); }
        $crate::compared! { $with!(shared plain bbq_drop_old: $crate::block::overwriting::BbqDropOld); }
        $with!(shared plain seqring: $crate::seq_ring::SeqRing);
        $crate::compared! { $with!(relaxed any d_cbo: $crate::relaxed::d_cbo::DCbo); }
        $crate::compared! { $with!(relaxed any radq: $crate::relaxed::d_cbo::Radq); }
        $crate::compared! { $with!(relaxed any multi_fifo: $crate::relaxed::multi_fifo::MultiFifo); }
        $crate::compared! { $with!(relaxed any block_fifo: $crate::relaxed::block_fifo::BlockFifo); }
        $crate::compared! { $with!(relaxed any bsq: $crate::relaxed::k_segment::Bsq); }
        $crate::compared! { $with!(relaxed any usq: $crate::relaxed::k_segment_list::Usq); }
        $crate::compared! { $with!(relaxed any lldq: $crate::relaxed::lldq::Lldq); }
        $crate::compared! { $with!(single any dspsc: $crate::list::linked::Dspsc); }
        $with!(single any uspsc: $crate::segmented::Uspsc);
        $with!(shared token lcrq: $crate::rings::lcrq::Lcrq);
        $crate::compared! { $with!(shared token lcrq_pool: $crate::rings::pooled::LcrqPool); }
        $with!(shared any lcrq_any: $crate::rings::lcrq::LcrqAny);
        $with!(shared any lprq: $crate::rings::lprq::Lprq);
        $crate::compared! { $with!(shared any msq: $crate::list::michael_scott::Msq); }
        $crate::compared! { $with!(shared any msq_pool: $crate::list::pooled::MsqPool); }
    };
}

/// As [`for_each_queue`](crate::for_each_queue) for the queues from which thieves steal:
/// `$with!(order id: module)`.
///
/// `order` is `Lifo` if the owner pops the newest item, `Fifo` if it pops the oldest. The module
/// has `INFO`, `queue`, `queue_with`, `Worker` and `Stealer`.
#[macro_export]
macro_rules! for_each_steal_queue {
    ($with:ident) => {
        $with!(Lifo bwos_lifo: $crate::steal::bwos::lifo);
        $with!(Fifo bwos_fifo: $crate::steal::bwos::fifo);
        $crate::compared! { $with!(Lifo abp: $crate::steal::chase_lev); }
        $crate::compared! { $with!(Lifo abp_asymmetric: $crate::steal::chase_lev::asymmetric); }
        $crate::compared! { $with!(Fifo tokio_ring: $crate::steal::run_queue); }
    };
}

/// What is for queues that are there only to compare.
#[cfg(not(corelane_shipped))]
#[doc(hidden)]
#[macro_export]
macro_rules! compared {
    ($($line:tt)*) => { $($line)* };
}

/// As the sanitizer builds it, for which they are too many.
#[cfg(corelane_shipped)]
#[doc(hidden)]
#[macro_export]
macro_rules! compared {
    ($($line:tt)*) => {};
}
