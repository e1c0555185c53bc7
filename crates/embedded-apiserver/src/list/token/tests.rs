use proptest::prelude::*;

use super::*;

#[test]
fn a_token_is_that_of_a_real_api_server() {
    // from lists of Endpoints in a namespace, of Endpoints in all namespaces, and of Events
    for (text, version, start) in [
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTIsInN0YXJ0IjoiL2UxXHUwMDAwIn0", 92, "/e1\0"),
        (
            "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTIsInN0YXJ0IjoiL2RlZmF1bHQvZTFcdTAwMDAifQ",
            92,
            "/default/e1\0",
        ),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MzM0LCJzdGFydCI6InYxXHUwMDAwIn0", 334, "v1\0"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiZGVmYXVsdC9hXHUwMDAwIn0", -1, "default/a\0"),
    ] {
        assert_eq!(Token { version, start: start.to_owned() }.encode(), text);
        let relative = start.strip_prefix('/').unwrap_or(start).to_owned();
        assert_eq!(Token::decode(text), Some(Token { version, start: relative }));
    }
}

proptest! {
    #[test]
    fn tokens_round_trip(version in 1..i64::MAX, start in "[a-z0-9.-]{1,20}(/[a-z0-9]{1,9})?\0?") {
        let token = Token { version, start };
        prop_assert_eq!(Token::decode(&token.encode()), Some(token));
    }

    #[test]
    fn any_text_is_decoded_or_refused(text in ".{0,40}", bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let _ = Token::decode(&text);
        let _ = Token::decode(&URL_SAFE_NO_PAD.encode(bytes));
    }
}
