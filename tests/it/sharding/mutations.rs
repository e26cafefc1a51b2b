//! Bytes and texts that differ a little from the cases. Nothing panics, and a sharding that is read
//! can be written and read again.

use stridec::sharding::Sharding;

use super::{base64, cases::cases};

/// A generator of numbers, which are the same on every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

/// Writes a sharding, reads it again, and places it on some shapes.
fn check(sharding: &Sharding) {
    assert_eq!(&sharding.to_string().parse::<Sharding>().unwrap(), sharding);
    assert_eq!(&Sharding::decode(&sharding.encode().unwrap()).unwrap(), sharding);
    for shape in ["f32[7]", "f32[5,9]", "f32[4,0,3]"] {
        if let Ok(placement) = sharding.place(&shape.parse().unwrap(), None) {
            for device in [0, placement.devices() / 2, placement.devices() - 1] {
                assert!(placement.tile(device).is_none_or(|tile| tile.elements() < 64));
            }
        }
    }
}

#[test]
fn no_bytes_and_no_text_panic() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let letters = b"0123456789-,:'{}[]()<=T? abm";
    let (mut bytes_read, mut texts_read) = (0, 0);
    let records = [cases("sharding"), cases("tuple")].concat();
    for record in &records {
        let bytes = base64::decode(record["proto_b64"].as_str().unwrap());
        let text = record["sharding"].as_str().unwrap().as_bytes().to_vec();
        for _ in 0..200 {
            let (mut bytes, mut text) = (bytes.clone(), text.clone());
            for _ in 0..=random.below(3) {
                if !bytes.is_empty() {
                    let at = random.below(bytes.len());
                    bytes[at] = u8::try_from(random.below(256)).unwrap();
                }
                let at = random.below(text.len());
                text[at] = letters[random.below(letters.len())];
            }
            if let Ok(sharding) = Sharding::decode(&bytes) {
                check(&sharding);
                bytes_read += 1;
            }
            if let Ok(sharding) = String::from_utf8(text).unwrap().parse::<Sharding>() {
                check(&sharding);
                texts_read += 1;
            }
        }
    }
    println!("{bytes_read} mutated messages and {texts_read} mutated texts were read");
    assert!(bytes_read > 500 && texts_read > 100);
}
