//! The tests of a queue between one producer and one consumer.

/// The checks of every queue, whatever its items.
macro_rules! single {
    ($queue:ty, $number:ty, $owned:ty) => {
        use corelane_conformance::*;

        checks! { Single<$number>, $queue:
            order::groups_of_every_size,
            order::fill_and_drain,
            order::random_mix,
            order::random_mix_for_every_batch,
            capacity::exact,
            capacity::exact_when_new,
            capacity::exact_when_new_by_chunks,
            capacity::free_again_after_drain,
            capacity::random_levels,
            capacity::full_gives_the_item_back,
            observers::counted,
            observers::counted_meanwhile,
            observers::observed_after_chunks,
            chunks::every_length_at_every_offset,
            chunks::around_the_end_of_pages,
            chunks::read_chunk_exact,
            chunks::dropped_chunks,
            chunks::changed_in_place,
            chunks::commit_of_too_many,
            chunks::lying_size_hint,
            chunks::panicking_iterator,
            wrap::batches_across_wraps,
            closing::closed_after_the_last_item,
            closing::closed_when_full,
            closing::dropping_the_producer_flushes,
            stress::singly_on_one_core,
            stress::batches_on_two_cores,
            stress::mixed_on_two_cores,
            stress::mixed_on_one_core,
        }

        checks! { Single<$owned>, $queue:
            wrap::leftovers_across_wraps,
            stress::owned_items,
        }

        #[test]
        fn singly_on_two_cores() {
            stress::singly_on_two_cores::<$number, $queue>();
        }

        /// Checks whose names are used above.
        mod owned {
            use corelane_conformance::*;

            checks! { Single<$owned>, $queue:
                drops::leftovers,
                drops::early_drop,
                drops::committed_chunks,
                drops::taken_chunks,
                drops::dropped_chunks,
                drops::forgotten_iterators,
                drops::panicking_iterator,
            }
        }
    };
}

/// The checks of a queue for items of any type.
macro_rules! single_any {
    ($queue:ty, $cases:expr) => {
        single! { $queue, u64, Counted }

        checks! { Single<u64>, $queue:
            chunks::write_chunk,
            chunks::write_chunk_exact,
        }

        items! { Single, $queue:
            tiny: u8 = 100, [u8; 3] = 100, u8 = 4096;
            large: items::Large = 10;
            owning: items::Owning = 50;
            over_aligned: items::Aligned = 20, items::AlignedBeyondPages = 4;
        }

        #[test]
        fn memory() {
            memory::backing_is_told(&Single::of::<$queue>());
            memory::mirrored_slots_are_one_slice(&Single::of::<$queue>());
        }

        mod regressions {
            use corelane_conformance::*;

            rows! { on_ours! Single<u64>, $queue, }
            rows_of_owned! { on_ours! Single<Counted>, $queue, }
            rows_of_any_items! { on_ours! Single<_>, $queue, }
            huge! { $queue }
        }

        mod handles {
            handles_of_single! { $queue }
        }

        mod properties {
            properties_of_any! { $queue, $cases }
        }
    };
}

/// The checks of a queue for tokens.
macro_rules! single_token {
    ($queue:ty) => {
        single! { $queue, std::num::NonZeroU64, Box<Counted> }

        items! { Single, $queue:
            tokens: Box<u64> = 50, std::sync::Arc<u64> = 50, &'static u64 = 50,
                &'static mut u64 = 20, std::num::NonZeroUsize = 50;
        }

        mod regressions {
            use corelane_conformance::*;

            rows! { on_ours! Single<std::num::NonZeroU64>, $queue, }
            rows_of_owned! { on_ours! Single<Box<Counted>>, $queue, }
        }

        in_one_thread! { std::num::NonZeroU64, $queue }

        mod handles {
            handles_of_tokens! { $queue }
        }

        mod properties {
            properties_of_tokens! { $queue }
        }
    };
}

/// Lists of other kinds of rings, which go from ring to ring as often as possible.
mod uspsc_of_lq {
    single_any! { corelane::segmented::Uspsc<corelane::lamport::Lq>, crate::properties::CASES }
}

mod uspsc_of_bqueue {
    single_any! { corelane::segmented::Uspsc<corelane::b_queue::BQueueAny>, crate::properties::CASES }
}
