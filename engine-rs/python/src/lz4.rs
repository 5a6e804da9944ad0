//! The maximum uncompressed size of an LZ4 frame, from its header and the lengths of its blocks.
//!
//! A frame is a magic number, flags, and blocks that each begin with their length. A block decompresses to at most the
//! block size in the header, and to at most 255 times its bytes.

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4D, 0x18];
const RATIO_MAX: u64 = 255;
const STORED: u32 = 1 << 31;

/// An upper bound over all frames in the bytes, complete or not. Bytes that are not a frame count as empty, because the
/// reader refuses them.
pub fn unfolds_to(bytes: &[u8]) -> u64 {
    let (mut rest, mut total) = (bytes, 0_u64);
    while let Some((length, after)) = frame(rest) {
        total = total.saturating_add(length);
        rest = after;
    }
    total
}

/// The bound of the first frame, and the rest of the bytes.
fn frame(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let rest = bytes.strip_prefix(&MAGIC)?;
    let [flags, sizes, ..] = *rest else { return None };
    // Two bytes of flags, optionally the length of the content, optionally a dictionary id, a checksum of the header.
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
