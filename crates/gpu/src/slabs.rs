//! Several blocks of one size class in one allocation of the driver.
//!
//! The driver gives large memory out in pages of 2 MiB, so a block of 1.125 MiB that is allocated
//! alone takes 2 MiB. A slab has as many blocks as fill whole pages. A class gets slabs once it has
//! as many blocks as one of them, so that slabs at most double the memory of a class.

use std::collections::{BTreeMap, BTreeSet};

/// The pages of the driver. It puts several allocations of up to half a page on one page by itself.
const PAGE: usize = 2 << 20;

/// The allocations of one stream: slabs, and how many blocks there are of each class.
#[derive(Debug, Default)]
pub(crate) struct Slabs {
    /// By their addresses.
    slabs: BTreeMap<u64, Slab>,
    /// The blocks of each class, also those outside slabs.
    blocks: BTreeMap<usize, usize>,
}

#[derive(Debug, Clone, Copy)]
struct Slab {
    class: usize,
    blocks: usize,
}

impl Slab {
    const fn bytes(self) -> usize {
        self.class * self.blocks
    }
}

/// The least number of blocks of a class that fills whole pages; one for classes of up to half a
/// page.
const fn blocks_of_slab(class: usize) -> usize {
    if class <= PAGE / 2 {
        return 1;
    }
    let shift = PAGE.trailing_zeros().saturating_sub(class.trailing_zeros());
    1 << shift
}

impl Slabs {
    /// The number of blocks that the next allocation of a class should have.
    pub(crate) fn next(&self, class: usize) -> usize {
        let (whole, blocks) = (blocks_of_slab(class), self.blocks.get(&class).copied().unwrap_or(0));
        if blocks < whole { 1 } else { whole }
    }

    /// Counts an allocation of so many blocks of a class, and returns the addresses of all but the
    /// first.
    pub(crate) fn add(
        &mut self,
        address: u64,
        class: usize,
        blocks: usize,
    ) -> impl Iterator<Item = u64> + use<> {
        *self.blocks.entry(class).or_default() += blocks;
        if blocks > 1 {
            self.slabs.insert(address, Slab { class, blocks });
        }
        (1..blocks).map(move |block| address + (block * class) as u64)
    }

    /// The address of the slab that a block is in.
    fn slab_of(&self, block: u64) -> Option<u64> {
        let (&address, slab) = self.slabs.range(..=block).next_back()?;
        (block < address + slab.bytes() as u64).then_some(address)
    }

    /// Divides free blocks, by class and address, into allocations for the driver, which are no
    /// longer counted, and the blocks of slabs of which others are in use.
    pub(crate) fn take_whole(
        &mut self,
        free: impl Iterator<Item = (usize, u64)>,
    ) -> (Vec<u64>, BTreeSet<u64>) {
        let (mut whole, mut partial) = (Vec::new(), BTreeMap::<u64, Vec<u64>>::new());
        for (class, block) in free {
            match self.slab_of(block) {
                Some(slab) => partial.entry(slab).or_default().push(block),
                None => {
                    self.forget(class, 1);
                    whole.push(block);
                }
            }
        }
        partial.retain(|address, blocks| {
            let is_whole = self.slabs.get(address).is_some_and(|slab| slab.blocks == blocks.len());
            if let Some(slab) = is_whole.then(|| self.slabs.remove(address)).flatten() {
                self.forget(slab.class, slab.blocks);
                whole.push(*address);
            }
            !is_whole
        });
        (whole, partial.into_values().flatten().collect())
    }

    fn forget(&mut self, class: usize, blocks: usize) {
        if let Some(count) = self.blocks.get_mut(&class) {
            *count = count.saturating_sub(blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::size_class;

    #[test]
    fn slabs_fill_pages() {
        for (class, blocks) in [
            (256, 1),
            (PAGE / 2, 1),
            (PAGE / 2 + PAGE / 16, 16),
            (PAGE, 1),
            (PAGE + PAGE / 8, 8),
            (PAGE + PAGE / 2, 2),
            (9 * PAGE / 2, 2),
            (9 * PAGE, 1),
        ] {
            assert_eq!((size_class(class), blocks_of_slab(class)), (Some(class), blocks));
            assert!(class <= PAGE / 2 || (class * blocks).is_multiple_of(PAGE));
        }
    }

    #[test]
    fn a_class_gets_slabs_once_it_has_enough_blocks() {
        let (mut slabs, class) = (Slabs::default(), 3 * PAGE / 2);
        assert_eq!(slabs.next(class), 1);
        for address in [1, 2] {
            assert_eq!(slabs.add(address << 40, class, 1).count(), 0);
        }
        assert_eq!((slabs.next(class), slabs.next(PAGE)), (2, 1));
        let others: Vec<u64> = slabs.add(3 << 40, class, 2).collect();
        assert_eq!(others, [(3 << 40) + class as u64]);
        let inside = [(3 << 40), others[0], others[0] + class as u64 - 1, others[0] + class as u64];
        assert_eq!(
            inside.map(|block| slabs.slab_of(block)),
            [Some(3 << 40), Some(3 << 40), Some(3 << 40), None]
        );
        // One block of the slab is in use.
        let free = [(class, 1 << 40), (class, others[0])];
        let (whole, kept) = slabs.take_whole(free.into_iter());
        assert_eq!((whole, kept), (vec![1 << 40], BTreeSet::from([others[0]])));
        let free = [(class, 2 << 40), (class, others[0]), (class, 3 << 40)];
        let (whole, kept) = slabs.take_whole(free.into_iter());
        assert_eq!((whole, kept), (vec![2 << 40, 3 << 40], BTreeSet::new()));
        assert_eq!(slabs.next(class), 1);
    }
}
