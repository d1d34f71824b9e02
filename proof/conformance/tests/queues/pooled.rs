//! The list of rings in a pool, which may be full with few items: the checks of a queue with
//! several handles a side, but for those that fill it while many handles are idle.

/// `lcrq-pool`, with boxed items of any type.
mod lcrq_pool_any {
    use corelane::rings::pooled::LcrqPoolAny;
    use corelane_conformance::several::{closing, drops as drops_of_several, items, stress};
    use corelane_conformance::*;

    checks! { Any<u64>, LcrqPoolAny:
        order::groups_of_every_size,
        order::fill_and_drain,
        capacity::exact,
        capacity::exact_when_new,
        capacity::free_again_after_drain,
        capacity::random_levels,
        capacity::full_gives_the_item_back,
        capacity::false_full,
        capacity::first_wrap_uninitialised,
        observers::counted,
        observers::counted_meanwhile,
    }

    checks! { Any<Counted>, LcrqPoolAny:
        drops::leftovers,
        drops::early_drop,
        wrap::leftovers_across_wraps,
    }

    checks! { Any<_>, LcrqPoolAny:
        closing::closed_by_the_last_producer,
        closing::closed_by_the_last_consumer,
        drops_of_several::leftovers_of_random_mixes,
        drops_of_several::owned_items,
        stress::singly_on_two_cores,
        stress::mixed_on_one_core,
        stress::handles_come_and_go,
    }

    items! { Any, LcrqPoolAny:
        tiny: u8 = 100, [u8; 3] = 100, u8 = 4096;
        large: corelane_conformance::items::Large = 10;
    }

    #[test]
    fn mixed_on_two_cores() {
        stress::inlined_on_two_cores::<LcrqPoolAny>();
    }
}
