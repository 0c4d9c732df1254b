//! A macro for tests that run for each user.

/// Makes two tests of each function: for the user of the tests, and for an ordinary user if the tests run as root. Brackets hold
/// what a test needs beyond that.
macro_rules! for_each_user {
    ($($name:ident [$($need:ident = $value:literal),*];)*) => {
        mod own {
            $(
                for_each_user!(@test [$($need = $value),*] $name Own);
            )*
        }
        mod nobody {
            $(
                for_each_user!(@test [root $(, $need = $value)*] $name Nobody);
            )*
        }
    };
    (@test [] $name:ident $user:ident) => {
        #[test]
        fn $name() {
            super::$name(crate::fixture::User::$user);
        }
    };
    (@test [$($needs:tt)+] $name:ident $user:ident) => {
        #[toolhost_needs::needs($($needs)+)]
        #[test]
        fn $name() {
            super::$name(crate::fixture::User::$user);
        }
    };
}
