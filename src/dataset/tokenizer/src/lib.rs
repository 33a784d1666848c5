//! WordPiece tokenization behind a C interface of a few functions, for Assay's text loaders.
//!
//! The tokenizer is the one that BERT's uncased and cased models are published with: BERT
//! normalizer, BERT pre-tokenizer, WordPiece, `[CLS] text [SEP]`. Vocabulary and options are all it
//! takes. Nothing unwinds across the boundary and nothing here prints.

use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;

use ahash::AHashMap;
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::normalizers::{BertNormalizer, StripAccents};
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::bert::BertProcessing;
use tokenizers::{
    AddedToken, NormalizedString, Normalizer, PaddingParams, PaddingStrategy, Tokenizer,
    TruncationParams,
};

/// Rises when a signature below changes.
const INTERFACE_VERSION: u32 = 2;

const UNKNOWN: &str = "[UNK]";
const START: &str = "[CLS]";
const END: &str = "[SEP]";
const PADDING: &str = "[PAD]";
const MASK: &str = "[MASK]";

pub struct Encoder {
    tokenizer: Tokenizer,
    max_length: usize,
    /// The same without `[CLS]`, `[SEP]`, cutting and padding.
    bare: Tokenizer,
    /// Of `[CLS]`, `[SEP]` and `[PAD]`.
    special_ids: [u32; 3],
}

/// A token and the bytes of the text that it stands for.
struct Piece {
    id: u32,
    begin: usize,
    end: usize,
}

#[no_mangle]
pub extern "C" fn assay_tokenizer_version() -> u32 {
    INTERFACE_VERSION
}

/// Makes an encoder from the text of a vocabulary file, one token a line. On failure returns null
/// and, when `error` is not null, stores a message there that `assay_tokenizer_free_text` frees.
///
/// # Safety
/// `vocab` points to `vocab_len` readable bytes; `error` is null or writable.
#[no_mangle]
pub unsafe extern "C" fn assay_tokenizer_new(
    vocab: *const u8,
    vocab_len: usize,
    lowercase: bool,
    max_length: usize,
    error: *mut *mut c_char,
) -> *mut Encoder {
    let bytes = std::slice::from_raw_parts(vocab, vocab_len);
    let made = catch_unwind(|| make(bytes, lowercase, max_length))
        .unwrap_or_else(|_| Err("the tokenizer library panicked".to_string()));
    match made {
        Ok(encoder) => Box::into_raw(Box::new(encoder)),
        Err(message) => {
            if !error.is_null() {
                *error = CString::new(message.replace('\0', " "))
                    .map_or(ptr::null_mut(), CString::into_raw);
            }
            ptr::null_mut()
        }
    }
}

/// Encodes `text` (UTF-8; anything else becomes U+FFFD) into exactly `max_length` ids, attention
/// mask and segment ids. Any number of threads may call it on one encoder. Returns 0, or -1 when the
/// text could not be encoded.
///
/// # Safety
/// `encoder` comes from `assay_tokenizer_new`; `text` has `text_len` readable bytes; `ids`, `mask`
/// and `segments` have room for `max_length` values each.
#[no_mangle]
pub unsafe extern "C" fn assay_tokenizer_encode(
    encoder: *const Encoder,
    text: *const u8,
    text_len: usize,
    ids: *mut i64,
    mask: *mut i64,
    segments: *mut i64,
) -> i32 {
    let encoder = &*encoder;
    let text = String::from_utf8_lossy(std::slice::from_raw_parts(text, text_len));
    let result = catch_unwind(AssertUnwindSafe(|| {
        encoder.tokenizer.encode(text.as_ref(), true)
    }));
    let Ok(Ok(encoding)) = result else { return -1 };
    if encoding.len() != encoder.max_length {
        return -1;
    }
    copy(encoding.get_ids(), ids);
    copy(encoding.get_attention_mask(), mask);
    copy(encoding.get_type_ids(), segments);
    0
}

/// Splits `text` (UTF-8) into its tokens, all of them and nothing else, each with the first byte of
/// the text that it stands for and the one behind its last. A mark that was stripped (an accent)
/// belongs to the token before it. Returns their number; nothing is written when that is more than
/// `room`. -1 when the text could not be split. Any number of threads may call it on one encoder.
///
/// # Safety
/// `encoder` comes from `assay_tokenizer_new`; `text` has `text_len` readable bytes; `ids`, `begins`
/// and `ends` have room for `room` values each.
#[no_mangle]
pub unsafe extern "C" fn assay_tokenizer_split(
    encoder: *const Encoder,
    text: *const u8,
    text_len: usize,
    room: usize,
    ids: *mut i64,
    begins: *mut u64,
    ends: *mut u64,
) -> i64 {
    let encoder = &*encoder;
    let Ok(text) = std::str::from_utf8(std::slice::from_raw_parts(text, text_len)) else {
        return -1;
    };
    let Ok(Some(pieces)) = catch_unwind(AssertUnwindSafe(|| split(&encoder.bare, text))) else {
        return -1;
    };
    if pieces.len() <= room {
        for (i, piece) in pieces.iter().enumerate() {
            *ids.add(i) = i64::from(piece.id);
            *begins.add(i) = piece.begin as u64;
            *ends.add(i) = piece.end as u64;
        }
    }
    pieces.len() as i64
}

/// Writes the ids of `[CLS]`, `[SEP]` and `[PAD]`.
///
/// # Safety
/// `encoder` comes from `assay_tokenizer_new`; `ids` has room for three values.
#[no_mangle]
pub unsafe extern "C" fn assay_tokenizer_special_ids(encoder: *const Encoder, ids: *mut i64) {
    copy(&(*encoder).special_ids, ids);
}

/// # Safety
/// `encoder` is null or comes from `assay_tokenizer_new`, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn assay_tokenizer_free(encoder: *mut Encoder) {
    if !encoder.is_null() {
        drop(Box::from_raw(encoder));
    }
}

/// # Safety
/// `text` is null or comes from this library, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn assay_tokenizer_free_text(text: *mut c_char) {
    if !text.is_null() {
        drop(CString::from_raw(text));
    }
}

unsafe fn copy(from: &[u32], to: *mut i64) {
    for (i, value) in from.iter().enumerate() {
        *to.add(i) = i64::from(*value);
    }
}

fn split(tokenizer: &Tokenizer, text: &str) -> Option<Vec<Piece>> {
    let encoding = tokenizer.encode(text, false).ok()?;
    let spans = encoding.get_offsets();
    let mut pieces = Vec::with_capacity(spans.len());
    for (i, (&id, &(begin, end))) in encoding.get_ids().iter().zip(spans).enumerate() {
        let limit = spans.get(i + 1).map_or(text.len(), |next| next.0.max(end));
        let end = end + marks_at_start(text.get(end..limit)?);
        pieces.push(Piece { id, begin, end });
    }
    Some(pieces)
}

/// Bytes of the combining marks that `text` starts with.
fn marks_at_start(text: &str) -> usize {
    text.chars()
        .take_while(|c| is_mark(*c))
        .map(char::len_utf8)
        .sum()
}

fn is_mark(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let mut alone = NormalizedString::from(c.to_string());
    StripAccents.normalize(&mut alone).is_ok() && alone.get().is_empty()
}

fn make(vocab: &[u8], lowercase: bool, max_length: usize) -> Result<Encoder, String> {
    let text = std::str::from_utf8(vocab).map_err(|e| format!("not UTF-8: {e}"))?;
    let vocab: AHashMap<String, u32> = text
        .lines()
        .enumerate()
        .map(|(id, token)| (token.to_string(), id as u32))
        .collect();
    let id_of = |token: &str| {
        vocab
            .get(token)
            .copied()
            .ok_or_else(|| format!("has no {token} token"))
    };
    id_of(UNKNOWN)?;
    // Text that spells a special token is that token, as in BERT's own tokenizer.
    let specials: Vec<AddedToken> = [UNKNOWN, START, END, PADDING, MASK]
        .iter()
        .filter(|token| vocab.contains_key(**token))
        .map(|token| AddedToken::from(*token, true))
        .collect();
    let (start, end, padding) = (id_of(START)?, id_of(END)?, id_of(PADDING)?);
    let model = WordPiece::builder()
        .vocab(vocab)
        .unk_token(UNKNOWN.to_string())
        .build()
        .map_err(|e| e.to_string())?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer.add_special_tokens(&specials);
    // Accents are stripped exactly when the text is lowered, as BERT's own tokenizer does.
    tokenizer.with_normalizer(Some(BertNormalizer::new(true, true, None, lowercase)));
    tokenizer.with_pre_tokenizer(Some(BertPreTokenizer));
    tokenizer.with_post_processor(Some(BertProcessing::new(
        (END.to_string(), end),
        (START.to_string(), start),
    )));
    let bare = tokenizer.clone();
    tokenizer
        .with_truncation(Some(TruncationParams {
            max_length,
            ..Default::default()
        }))
        .map_err(|e| e.to_string())?;
    tokenizer.with_padding(Some(PaddingParams {
        strategy: PaddingStrategy::Fixed(max_length),
        pad_id: padding,
        pad_token: PADDING.to_string(),
        ..Default::default()
    }));
    Ok(Encoder {
        tokenizer,
        max_length,
        bare,
        special_ids: [start, end, padding],
    })
}
