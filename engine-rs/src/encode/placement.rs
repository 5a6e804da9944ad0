//! The partition to which a term belongs: the same in every process and in every release.
//!
//! FNV-1a (64 bits) over the bytes of the term in N-Triples syntax, then the finalizer of MurmurHash3, because the low
//! bits of FNV alone are uneven; then the remainder by the number of partitions. No seed and no table are involved.
//! Changing any of it invalidates snapshots of partitions: their header names the scheme.

use super::language::with_tags_in_lower_case;
use oxrdf::TermRef;
use std::fmt::Write;

/// Part of the fingerprint of a partitioned query.
pub(crate) const SCHEME: &str = "fnv1a64-murmur3";

const BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0100_0000_01B3;

/// The partition a term belongs to, below `partitions`.
pub(crate) fn partition_of(term: TermRef<'_>, partitions: u32) -> u32 {
    if let Some(term) = with_tags_in_lower_case(term) {
        return partition_of(term.as_ref(), partitions);
    }
    let mut hash = Fnv(BASIS);
    match term {
        // Most terms are IRIs; this hashes the same bytes without going through the writer.
        TermRef::NamedNode(node) => {
            hash.add(b"<");
            hash.add(node.as_str().as_bytes());
            hash.add(b">");
        }
        other => {
            // Writing to a hash does not fail.
            let _ = write!(hash, "{other}");
        }
    }
    (mixed(hash.0) % u64::from(partitions.max(1))) as u32
}

struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

fn mixed(mut hash: u64) -> u64 {
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{Literal, NamedNode, Term};

    #[test]
    fn a_term_has_its_partition_for_ever() {
        let terms: [(Term, u32); 4] = [
            (NamedNode::new_unchecked("http://example.org/a").into(), 476),
            (NamedNode::new_unchecked("http://example.org/b").into(), 293),
            (Literal::from(5).into(), 228),
            (Literal::new_simple_literal("Ünï \"q\"").into(), 731),
        ];
        let found: Vec<u32> = terms.iter().map(|(term, _)| partition_of(term.as_ref(), 1000)).collect();
        assert_eq!(found, terms.map(|(_, partition)| partition));
    }

    #[test]
    fn partitions_are_about_equally_full() {
        for partitions in [2, 3, 8, 64] {
            let mut full = vec![0_u32; partitions as usize];
            for n in 0..10_000 * partitions {
                let node = NamedNode::new_unchecked(format!("http://example.org/sensor/{n}"));
                full[partition_of(node.as_ref().into(), partitions) as usize] += 1;
            }
            assert!(full.iter().all(|n| (9_500..10_500).contains(n)), "{full:?}");
        }
    }
}
