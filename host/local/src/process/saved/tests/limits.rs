//! Caps of processes, and quotas of chats and in all.

use super::*;

#[tokio::test]
async fn a_process_is_saved_up_to_its_cap() {
    let fixture = Fixture::new(limits(1000, 10_000, 10_000));
    let chat = fixture.store.chat();
    let output = chat.output();
    output.append(pattern(1000).into()).await;
    assert_eq!(output.status(), Saved::Complete);
    output.append(Bytes::new()).await;
    assert_eq!(output.status(), Saved::Complete);
    output.append(pattern(1).into()).await;
    output.append(pattern(1).into()).await;
    assert_eq!(output.status(), Saved::Partial(1000));
    assert_eq!(all(&output).await, pattern(1000));
    let output = filled(&chat, 1001).await;
    assert_eq!(all(&output).await, pattern(1000));
    assert_eq!(fixture.held(), 2000);
}

#[tokio::test]
async fn the_oldest_closed_outputs_of_a_chat_make_room_for_new_ones() {
    let fixture = Fixture::new(limits(1000, 1000, 10_000));
    let (chat, other) = (fixture.store.chat(), fixture.store.chat());
    let elsewhere = filled(&other, 400).await;
    let open = chat.output();
    open.append(pattern(400).into()).await;
    let oldest = filled(&chat, 300).await;
    let newest = filled(&chat, 300).await;
    let output = chat.output();
    output.append(pattern(200).into()).await;
    assert_eq!(oldest.status(), Saved::None);
    assert_eq!(all(&oldest).await, b"");
    output.append(pattern(400).into()).await;
    assert_eq!(newest.status(), Saved::None);
    assert_eq!(
        (open.status(), output.status()),
        (Saved::Complete, Saved::Complete)
    );
    output.append(pattern(400).into()).await;
    assert_eq!(output.status(), Saved::Partial(600), "nothing else may go");
    open.append(pattern(1).into()).await;
    assert_eq!(open.status(), Saved::Partial(400));
    fixture.store.writer.flush();
    assert!(!fixture.path(&oldest).exists() && !fixture.path(&newest).exists());
    assert_eq!(all(&elsewhere).await, pattern(400));
    assert_eq!(fixture.held(), 1400);
}

#[tokio::test]
async fn the_total_is_kept_over_all_chats() {
    let fixture = Fixture::new(limits(1000, 1000, 1500));
    let chats = [(); 3].map(|()| fixture.store.chat());
    let oldest = filled(&chats[0], 700).await;
    let newer = filled(&chats[1], 700).await;
    let output = filled(&chats[2], 800).await;
    assert_eq!(oldest.status(), Saved::None);
    assert_eq!(
        (newer.status(), output.status()),
        (Saved::Complete, Saved::Complete)
    );
    assert_eq!(fixture.held(), 1500);
    // An output that was dropped without being removed holds its quota, and makes room as others do.
    let gone = fixture.path(&newer);
    drop(newer);
    filled(&chats[0], 100).await;
    fixture.store.writer.flush();
    assert!(!gone.exists());
    assert_eq!(fixture.held(), 900);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_disk_holds_the_counted_bytes_under_concurrent_use() {
    let fixture = Fixture::new(limits(30_000, 300_000, 500_000));
    let chats = [(); 4].map(|()| fixture.store.chat());
    let tasks: Vec<_> = (0..200)
        .map(|index| {
            let chat = Arc::clone(&chats[index % 4]);
            tokio::spawn(async move {
                let output = chat.output();
                for size in [1000, 9000, 20_000, index * 10] {
                    output.append(pattern(size).into()).await;
                    tokio::task::yield_now().await;
                }
                match index % 5 {
                    0 => output.remove(),
                    1 => {}
                    _ => output.close(),
                }
                if index == 150 {
                    let chat = Arc::clone(&chat);
                    tokio::task::spawn_blocking(move || chat.remove().unwrap());
                }
                output.settled(u64::MAX).await;
                output
            })
        })
        .collect();
    let mut outputs = Vec::new();
    for task in tasks {
        outputs.push(task.await.unwrap());
    }
    chats[2].remove().unwrap();
    fixture.store.writer.flush();
    let mut on_disk = 0;
    for output in &outputs {
        let file = std::fs::metadata(fixture.path(output));
        let length = file.map_or(0, |file| file.len());
        assert_eq!((output.written(), output.accepted()), (length, length));
        assert_eq!(
            output.read(0, usize::MAX).await.unwrap().len() as u64,
            length
        );
        on_disk += length;
    }
    assert!(on_disk > 0 && on_disk <= 500_000);
    assert_eq!(fixture.held(), on_disk);
    assert_eq!(fixture.store.room.available_permits(), IN_FLIGHT);
}
