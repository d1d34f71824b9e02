//! Every queue: a line here gives it tests, models, simulations and benchmarks.

/// Calls the macro `$with` once for each queue: `$with!(sides items id: Type)`.
///
/// `sides` is `single` for a queue between one producer and one consumer, which lend their slots
/// ([`SingleQueue`](crate::SingleQueue)), `shared` for a queue whose handles may be cloned, or
/// `relaxed` for such a queue whose items may leave [out of turn](crate::relaxed).
/// `items` is `any` if it carries items of any type, `token` for [tokens](crate::slot::Token) only,
/// `plain` for [plain data](crate::overwrite::Plain) only. `mcring-sane`, which starts a thread of
/// its own and exists only to be measured, is not in the list.
#[macro_export]
macro_rules! for_each_queue {
    ($with:ident) => {
        $with!(single any lq: $crate::lamport::Lq);
        $with!(single any llq: $crate::lamport::lazy::Llq);
        $with!(single any blq: $crate::lamport::batched::Blq);
        $with!(single token ffq: $crate::fast_forward::Ffq);
        $with!(single any ffq_any: $crate::fast_forward::FfqAny);
        $with!(single token ffq_slip: $crate::fast_forward::slipping::FfqSlip);
        $with!(single any ffq_slip_any: $crate::fast_forward::slipping::FfqSlipAny);
        $with!(single token iffq: $crate::fast_forward::improved::Iffq);
        $with!(single any iffq_any: $crate::fast_forward::improved::IffqAny);
        $with!(single token biffq: $crate::fast_forward::batched::Biffq);
        $with!(single any biffq_any: $crate::fast_forward::batched::BiffqAny);
        $with!(single any mcring: $crate::mc_ring::McRing);
        $with!(single token bqueue: $crate::b_queue::BQueue);
        $with!(single any bqueue_any: $crate::b_queue::BQueueAny);
        $with!(single any linering: $crate::line_ring::LineRing);
        $with!(single any bbq_spsc: $crate::block::single::BbqSpsc);
        $with!(shared any bbq: $crate::block::shared::Bbq);
        $with!(shared any bbq_mpsc: $crate::block::one_consumer::BbqMpsc);
        $with!(shared any bbq_spmc: $crate::block::one_producer::BbqSpmc);
        $with!(shared any faaq: $crate::block::fetch_add::Faaq);
        $with!(shared any bbq_bytes: $crate::block::bytes::BbqBytes);
        $with!(shared any ring: $crate::ring::Ring<$crate::ring::InOrder>);
        $with!(shared any ring_rts: $crate::ring::Ring<$crate::ring::RelaxedTail>);
        $with!(shared any ring_hts: $crate::ring::Ring<$crate::ring::HeadTail>);
        $with!(shared any leased: $crate::leased::Leased);
        $with!(shared any scq: $crate::scq::Scq);
        $with!(relaxed any cnq: $crate::relaxed::cnq::Cnq<$crate::block::fetch_add::Faaq>);
        $with!(relaxed any cnq_bbq: $crate::relaxed::cnq::Cnq<$crate::block::shared::Bbq>);
        $with!(relaxed any cnq_scq: $crate::relaxed::cnq::Cnq<$crate::scq::Scq>);
        $with!(relaxed any cnq_ring: $crate::relaxed::cnq::Cnq<$crate::ring::Ring<$crate::ring::InOrder>>);
        $with!(shared any locked: $crate::locked::Locked);
        $with!(shared plain bbq_drop_old: $crate::block::overwriting::BbqDropOld);
        $with!(shared plain seqring: $crate::seq_ring::SeqRing);
        $with!(relaxed any d_cbo: $crate::relaxed::d_cbo::DCbo);
        $with!(relaxed any radq: $crate::relaxed::d_cbo::Radq);
        $with!(relaxed any multi_fifo: $crate::relaxed::multi_fifo::MultiFifo);
        $with!(relaxed any block_fifo: $crate::relaxed::block_fifo::BlockFifo);
        $with!(relaxed any bsq: $crate::relaxed::k_segment::Bsq);
        $with!(relaxed any usq: $crate::relaxed::k_segment_list::Usq);
        $with!(relaxed any lldq: $crate::relaxed::lldq::Lldq);
        $with!(single any dspsc: $crate::list::linked::Dspsc);
        $with!(single any uspsc: $crate::segmented::Uspsc);
        $with!(shared token lcrq: $crate::rings::lcrq::Lcrq);
        $with!(shared any lcrq_any: $crate::rings::lcrq::LcrqAny);
        $with!(shared any lprq: $crate::rings::lprq::Lprq);
        $with!(shared any msq: $crate::list::michael_scott::Msq);
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
        $with!(Lifo abp: $crate::steal::chase_lev);
        $with!(Lifo abp_asymmetric: $crate::steal::chase_lev::asymmetric);
        $with!(Fifo tokio_ring: $crate::steal::run_queue);
    };
}
