"""The likeness of two names, by Jaro and Winkler."""


def jaro_winkler(one: str, other: str) -> float:
    """Returns 1.0 for equal texts, and 0.0 for texts without a common letter."""
    likeness = jaro(one, other)
    common = 0
    for a, b in zip(one[:4], other[:4]):
        if a != b:
            break
        common += 1
    return likeness + common * 0.1 * (1 - likeness) if likeness > 0.7 else likeness


def jaro(one: str, other: str) -> float:
    if not one or not other:
        return float(one == other)
    reach = max(max(len(one), len(other)) // 2 - 1, 0)
    taken = [False] * len(other)
    matches = []
    for at, letter in enumerate(one):
        for place in range(max(at - reach, 0), min(at + reach + 1, len(other))):
            if not taken[place] and other[place] == letter:
                taken[place] = True
                matches.append(letter)
                break
    if not matches:
        return 0.0
    opposite = [letter for letter, is_taken in zip(other, taken) if is_taken]
    swapped = sum(a != b for a, b in zip(matches, opposite)) / 2
    count = len(matches)
    return (count / len(one) + count / len(other) + (count - swapped) / count) / 3
