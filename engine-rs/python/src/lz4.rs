//! What an LZ4 frame can unfold to, read from its head and the lengths of its blocks.
//!
//! A frame is a magic number, flags, and blocks that each begin with their length. A block unfolds to at most the
//! greatest size that the head allows, and to at most 255 times its bytes.

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];
const RATIO_MAX: u64 = 255;
const STORED: u32 = 1 << 31;

/// An upper bound over all frames in the bytes, whole or not. What is no frame is refused by the reader and unfolds to
/// nothing.
pub fn unfolds_to(bytes: &[u8]) -> u64 {
    let (mut rest, mut total) = (bytes, 0_u64);
    while let Some((length, after)) = frame(rest) {
        total = total.saturating_add(length);
        rest = after;
    }
    total
}

/// The bound of the first frame, and what follows it.
fn frame(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let [flags, sizes, ..] = *rest else { return None };
    // Two bytes of flags, perhaps the length of the content, perhaps the id of a dictionary, a check of the head.
    let head = 3 + if flags & 0x08 == 0 { 0 } else { 8 } + if flags & 0x01 == 0 { 0 } else { 4 };
    let block_check = if flags & 0x10 == 0 { 0 } else { 4 };
    let content_check = if flags & 0x04 == 0 { 0 } else { 4 };
    let block_max = 1_u64 << (8 + 2 * u32::from(sizes >> 4 & 0x07));
    let (mut rest, mut total) = (rest.get(head..)?, 0_u64);
    while let Some((size, after)) = rest.split_first_chunk::<4>() {
        let size = u32::from_le_bytes(*size);
        if size == 0 {
            return Some((total, after.get(content_check..).unwrap_or_default()));
        }
        let (length, ratio) = (size & !STORED, if size & STORED == 0 { RATIO_MAX } else { 1 });
        total = total.saturating_add(block_max.min(u64::from(length) * ratio));
        rest = after.get(length as usize + block_check..).unwrap_or_default();
    }
    Some((total, &[]))
}
