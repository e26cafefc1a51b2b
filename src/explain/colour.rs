//! [`Colour`]: the colour of an element in a picture, which depends on its offset in memory. The
//! colours are the scale viridis, which becomes steadily lighter and suits colour-blind readers.
//! Elements that are close together in memory have similar colours.

/// Ten colours of viridis, from the start of memory to its end.
pub(super) const VIRIDIS: [[u8; 3]; 10] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x28, 0x78],
    [0x3e, 0x49, 0x89],
    [0x31, 0x68, 0x8e],
    [0x26, 0x82, 0x8e],
    [0x1f, 0x9e, 0x89],
    [0x35, 0xb7, 0x79],
    [0x6e, 0xce, 0x58],
    [0xb5, 0xde, 0x2b],
    [0xfd, 0xe7, 0x25],
];

/// Colours of different hues, one for each source: the palette of Okabe and Ito, which colour-blind
/// readers can tell apart.
const HUES: [[u8; 3]; 8] = [
    [0x56, 0xb4, 0xe9],
    [0xe6, 0x9f, 0x00],
    [0x00, 0x9e, 0x73],
    [0xf0, 0xe4, 0x42],
    [0xcc, 0x79, 0xa7],
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0xb0, 0xb0, 0xb0],
];

/// A background colour, which also determines the colour of the text on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour {
    rgb: [u8; 3],
}

impl Colour {
    /// Returns the colour for the offset `at` in a memory of `places` elements.
    pub(super) fn of(at: u64, places: u64) -> Self {
        let last = u128::from(places.saturating_sub(1)).max(1);
        // The position on the colour scale, in 256ths of the distance between two adjacent colours.
        let way = (u128::from(at).min(last) * 9 * 256 / last).min(9 * 256);
        let from = usize::try_from(way / 256).unwrap_or(9);
        let part = u16::try_from(way % 256).unwrap_or(0);
        let (low, high) = (VIRIDIS[from], VIRIDIS[(from + 1).min(9)]);
        let mix = |low: u8, high: u8| {
            let mixed = (u16::from(low) * (256 - part) + u16::from(high) * part.min(255)) / 256;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        };
        Self { rgb: [mix(low[0], high[0]), mix(low[1], high[1]), mix(low[2], high[2])] }
    }

    /// Returns the colour of the source with the given number. Colours repeat if there are more
    /// sources than hues.
    pub(super) fn of_source(number: usize) -> Self {
        Self { rgb: HUES[number % HUES.len()] }
    }

    /// Returns the colour of device or group `number` out of `count`. If there are enough hues,
    /// each device gets its own. Otherwise the devices get colours of viridis.
    pub(super) fn of_device(number: usize, count: usize) -> Self {
        if count <= HUES.len() {
            Self::of_source(number)
        } else {
            Self::of(number as u64, count as u64)
        }
    }

    /// Returns the colour in hexadecimal notation, such as `#31688e`.
    pub(super) fn hex(self) -> String {
        let [r, g, b] = self.rgb;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// Returns true if black text is easier to read on this colour than white text, which is the
    /// case if its relative luminance is above 0.18.
    pub(super) fn takes_dark_text(self) -> bool {
        let linear = |c: u8| (f32::from(c) / 255.0).powf(2.2);
        let [r, g, b] = self.rgb.map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18
    }

    /// Returns the terminal style whose background is the nearest of the terminal's 6×6×6 colours,
    /// with a readable text colour.
    pub(super) fn terminal(self) -> anstyle::Style {
        let level = |c: u8| match c {
            0..=47 => 0,
            48..=114 => 1,
            _ => (c - 35) / 40,
        };
        let [r, g, b] = self.rgb.map(level);
        let background = anstyle::Ansi256Color(16 + 36 * r + 6 * g + b);
        let text = anstyle::Ansi256Color(if self.takes_dark_text() { 16 } else { 231 });
        anstyle::Style::new().bg_color(Some(background.into())).fg_color(Some(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_from_dark_to_light() {
        assert_eq!(Colour::of(0, 100).hex(), "#440154");
        assert_eq!(Colour::of(99, 100).hex(), "#fde725");
        assert_eq!(Colour::of(0, 1).hex(), "#440154");
        assert!(!Colour::of(0, 100).takes_dark_text());
        assert!(Colour::of(99, 100).takes_dark_text());
    }
}
