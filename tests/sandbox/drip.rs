//! Guests that wait and never reply. Waits cost no guest time, so that it is the deadline that ends them.

use super::contained::ends_at_its_deadline;

#[tokio::test]
async fn slow_drip() {
    ends_at_its_deadline("slow_drip").await;
}

#[tokio::test]
async fn endless_sleep() {
    ends_at_its_deadline("endless_sleep").await;
}

/// Its process ends with it.
#[tokio::test]
async fn endless_wait() {
    let attack = ends_at_its_deadline("endless_wait").await;
    super::processes::none_is_left(&attack.setup).await;
}
