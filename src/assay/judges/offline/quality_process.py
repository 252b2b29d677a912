"""Readings of the work itself: tools, order, context, errors, what was spent."""

from collections import Counter
from collections.abc import Iterator

from assay.facts import attempts, tokens
from assay.facts.signals import Sign, has_failed, quote_call, quote_error
from assay.judges.offline.quality_signals import (
    SessionView,
    SignalScore,
    clamp,
    format_count,
    pick_signs,
    place_in_norm,
    quote_turn,
    weigh_occasions,
)
from assay.sessions.calls import list_calls, list_made_edits
from assay.types import Call

MANY_CALLS, MANY_EDITS, MANY_LOOKS = 15, 3, 20
FEW_CALLS = 8
LONG = 40
LOOP = 3
HARDLY = 0.03
GRAVE = -1.0
"""What a failed check or signal weighs at least; a linter's complaint weighs less."""
WORST, SLOW, SOUND, BEST = 0.0, 1 / 3, 2 / 3, 1.0


def list_placed_calls(view: SessionView) -> Iterator[tuple[int, Call]]:
    for number, turn in enumerate(view.turns, 1):
        for call in turn.calls:
            yield number, call


def count_calls(view: SessionView) -> int:
    """All calls, those too that never ended."""
    return sum(len(turn.calls) for turn in view.turns)


def list_ended_calls(view: SessionView) -> list[Call]:
    return [call for call in list_calls(view.turns) if call.status in ("ok", "error")]


# --- tools ------------------------------------------------------------------------------------


def score_tool_choice(view: SessionView) -> SignalScore | None:
    """File work by the shell where a tool exists."""
    seen = view.seen["shell_file_work"]
    if seen.share is None:
        return None
    told = f"{len(seen.signs)} of {format_count(seen.of, 'file operation')} went through the shell though a tool exists"
    if not seen.signs:
        told = f"all {format_count(seen.of, 'file operation')} used tools made for them"
    return SignalScore(clamp(1 - 1.5 * seen.share), told, pick_signs(seen), weigh_occasions(seen.of, 4))


def score_retries(view: SessionView) -> SignalScore | None:
    """The same failing call again, with nothing changed."""
    seen = view.seen["retries"]
    if seen.share is None:
        return None
    again = f"{format_count(len(seen.signs), 'failing call')} made again unchanged"
    told = again if seen.signs else "no failing call was repeated unchanged"
    shown = weigh_occasions(seen.of, 10) * (
        1.0 if seen.signs else 0.5
    )  # that nothing is there shows less than that something is
    return SignalScore(clamp(1 - 8 * seen.share), told, pick_signs(seen), shown)


def score_tool_errors(view: SessionView) -> SignalScore | None:
    """Calls that failed for how they were made: a failing check is none of these."""
    there = list_ended_calls(view)
    if not there:
        return None
    failed = [
        quote_error((number, call))
        for number, call in list_placed_calls(view)
        if call.status == "error" and has_failed(call) and not any(run.purpose for run in call.runs)
    ]
    signs = tuple(failed[:3]) or quote_first_call(view)
    told = describe_errors(view, len(failed))
    return SignalScore(clamp(1 - 6 * len(failed) / len(there)), told, signs, weigh_occasions(len(there), 10))


def describe_errors(view: SessionView, counted: int) -> str:
    """How many calls failed, as the facts count them, and how many of those for how they were made."""
    errors = sum(call.status == "error" for call in list_calls(view.turns))
    of_those = f", {counted or 'none'} of them for how they were made" if counted != errors else ""
    return f"{errors} of {format_count(count_calls(view), 'call')} failed{of_those}"


def quote_first_call(view: SessionView) -> tuple[Sign, ...]:
    signs = (Sign(number, quote_call(call)) for number, call in list_placed_calls(view))
    return tuple(sign for sign in signs if sign.quote)[:1]


def score_parallel(view: SessionView) -> SignalScore | None:
    """Looking at several things at once."""
    seen = view.seen["parallel_calls"]
    if seen.share is None or seen.of < 4:
        return None
    told = f"{len(seen.signs)} of {seen.of} reads and searches ran together with another"
    return SignalScore(clamp(0.5 + seen.share), told, pick_signs(seen), weigh_occasions(seen.of, 10))


def score_delegation(view: SessionView) -> SignalScore | None:
    """A wide search handed to a sub-agent, where there was one."""
    seen = view.seen["delegation"]
    looks = [call for call in list_ended_calls(view) if call.kind in ("read", "search") and not call.by]
    if seen.signs:
        return SignalScore(
            1.0, f"{format_count(len(seen.signs), 'call')} handed work to sub-agents", pick_signs(seen), 0.8
        )
    if len(looks) < MANY_LOOKS:
        return None
    told = f"{len(looks)} reads and searches in the main context and no sub-agent"
    signs = tuple(Sign(n, quote_call(call)) for n, call in list_placed_calls(view) if call in looks[:1])
    return SignalScore(0.5, told, signs[:1], weigh_occasions(len(looks), MANY_LOOKS))


# --- order ------------------------------------------------------------------------------------


def score_planning(view: SessionView) -> SignalScore | None:
    """A plan or a list of steps, where there were several."""
    seen = view.seen["planning"]
    edits = sum(bool(list_made_edits(call)) for call in list_ended_calls(view))
    is_large = seen.of >= MANY_CALLS and edits >= MANY_EDITS
    if seen.signs:
        signs = [sign for sign in seen.signs if sign.quote] or [quote_turn(view.turns, seen.signs[0].turn)]
        return SignalScore(1.0, "steps were planned and kept track of", tuple(signs[:2]), 1.0 if is_large else 0.5)
    opening = next(((n, turn.prompt) for n, turn in enumerate(view.turns, 1) if turn.prompt), None)
    if opening and opening[1].kind == "plan":
        sign = quote_turn(view.turns, opening[0])
        return SignalScore(1.0, "it began with a plan that was accepted", (sign,), 1.0 if is_large else 0.5)
    if not is_large:
        return None
    told = f"no plan or list of steps in {format_count(seen.of, 'call')} with {format_count(edits, 'edit')}"
    return SignalScore(0.35, told, pick_signs(seen), weigh_occasions(seen.of, MANY_CALLS))


def score_read_before_edit(view: SessionView) -> SignalScore | None:
    """Files looked at before they were changed."""
    seen = view.seen["read_before_edit"]
    if seen.share is None:
        return None
    told = f"{len(seen.signs)} of {format_count(seen.of, 'edit')} came after a look at the file"
    signs = pick_signs(seen) if seen.share == 1 else ((seen.first,) if seen.first else ())
    return SignalScore(seen.share, told, signs, weigh_occasions(seen.of, 3))


def score_verification(view: SessionView) -> SignalScore | None:
    """Checks after the last edit of code."""
    seen, timeline = view.seen["verified"], view.timeline
    if not seen.of:
        return None
    after = [one for one, at in zip(timeline.checks, timeline.checked_at, strict=True) if at > timeline.last_edit]
    last = {one.purpose: one for one in after}
    failed = [one for one in last.values() if one.passed is False]
    if failed:
        signs = tuple(quote_error((one.turn, one.call)) for one in failed[:2])
        # Linters complain of much that was there before.
        value = 0.5 if all(one.purpose == "lint" for one in failed) else 0.2
        return SignalScore(value, f"after the last edit {failed[0].purpose} failed", signs)
    if last:
        ran = list(last.values())
        value = 1.0 if any(one.passed for one in ran) else 0.7
        signs = tuple(Sign(one.turn, quote_call(one.call)) for one in ran[:2])
        return SignalScore(value, f"checked after the last edit ({', '.join(sorted(last))})", signs)
    return SignalScore(0.3, "nothing was checked after the last edit of code", pick_signs(seen))


def score_skills(view: SessionView) -> SignalScore | None:
    """Skills loaded as they are meant to be; nothing where none was, for nobody can tell that one was needed."""
    seen = view.seen["skills"]
    if not seen.of:
        return None
    told = f"{format_count(len(seen.signs), 'skill')} loaded"
    told = told if seen.share == 1 else f"{told}, {seen.of - len(seen.signs)} read by hand though a tool loads them"
    return SignalScore(0.5 + 0.5 * (seen.share or 0.0), told, pick_signs(seen), 0.5)


def score_workflow(view: SessionView) -> SignalScore | None:
    """Whether commits, pushes and pull requests kept to the project's rules."""
    seen = view.seen["workflow"]
    if seen.share is None:
        return None
    broken = seen.of - len(seen.signs)
    told = f"{format_count(broken, 'step')} skipped a hook, or came up against a rule of the project"
    told = told if broken else "hooks and branch rules were kept to"
    signs = ((seen.first,) if broken and seen.first else ()) + pick_signs(seen, 1)
    return SignalScore(clamp(1 - 0.5 * broken), told, signs, weigh_occasions(seen.of, 2))


# --- context ----------------------------------------------------------------------------------


def score_targeted_reads(view: SessionView) -> SignalScore | None:
    """Reads of the lines that were needed rather than of whole files."""
    seen = view.seen["targeted_reads"]
    if seen.share is None or seen.of < 4:
        return None
    told = f"{len(seen.signs)} of {format_count(seen.of, 'read')} asked for some lines only"
    return SignalScore(clamp(0.55 + 0.6 * seen.share), told, pick_signs(seen), weigh_occasions(seen.of, 8))


def score_rereads(view: SessionView) -> SignalScore | None:
    """Files read again with nothing changed in them."""
    seen = view.seen["rereads"]
    if seen.share is None or seen.of < 3:
        return None
    told = f"{len(seen.signs)} of {format_count(seen.of, 'read')} were of a file read before and unchanged"
    return SignalScore(clamp(1 - 2 * seen.share), told, pick_signs(seen), weigh_occasions(seen.of, 6))


def score_reads_used(view: SessionView) -> SignalScore | None:
    """Of the files that were read, those that the change was made in."""
    reads = {
        call.target: number for number, call in list_placed_calls(view) if call.kind == "read" and call.status == "ok"
    }
    edited = {edit.path for call in list_ended_calls(view) for edit in list_made_edits(call)}
    if len(reads) < 5 or not edited:
        return None
    used = [path for path in reads if path in edited]
    path = next((path for path in reads if path not in edited), used[0] if used else "")
    told = f"{len(used)} of {len(reads)} files that were read were changed"
    value = clamp(0.4 + 1.5 * len(used) / len(reads))
    return SignalScore(value, told, (Sign(reads[path], path),) if path else (), weigh_occasions(len(reads), 10))


def score_compactions(view: SessionView) -> SignalScore | None:
    """A context that filled up."""
    turns = [n for n, turn in enumerate(view.turns, 1) for mark in turn.marks if mark.kind == "compact"]
    if turns:
        signs = (quote_turn(view.turns, turns[0]),)
        return SignalScore(
            clamp(0.6 - 0.15 * (len(turns) - 1)), f"compacted {format_count(len(turns), 'time')}", signs, 0.8
        )
    there = list_ended_calls(view)
    if len(there) < LONG:
        return None
    told = f"{format_count(count_calls(view), 'call')} without a full context"
    return SignalScore(1.0, told, quote_first_call(view), 0.6)


# --- errors -----------------------------------------------------------------------------------


def score_errors(view: SessionView) -> SignalScore | None:
    """What was made of errors: left, got past slowly, got past, or hardly any to begin with."""
    seen, there = view.seen["recovered"], list_ended_calls(view)
    checked = bool(view.seen["verified"].signs)
    if not seen.of:
        if len(there) < FEW_CALLS or not checked:
            return None
        told = f"no error in {format_count(count_calls(view), 'call')}, and the result was checked"
        return SignalScore(BEST, told, pick_signs(view.seen["verified"], 1))
    loops = attempts.fact(view.turns)
    left = seen.of - len(seen.signs)
    told = f"got past {len(seen.signs)} of {seen.of} failed calls and checks"
    signs = ((seen.first,) if left and seen.first else ()) + tuple(seen.signs[:2])
    if stands := find_standing_failure(view):
        return SignalScore(WORST, f"{told}; at the end stands: {stands.quote[:80]}", (stands,))
    if left > seen.of / 2:
        return SignalScore(WORST if seen.of > 2 else SLOW, told, signs)
    if loops.longest_loop >= LOOP or left > seen.of / 5:
        tries = f", one of them after {loops.longest_loop} tries" if loops.longest_loop >= LOOP else ""
        return SignalScore(SLOW, told + tries, signs)
    is_hardly = not left and checked and seen.of <= HARDLY * len(there)
    return SignalScore(BEST if is_hardly else SOUND, f"{told} soon", signs)


def find_standing_failure(view: SessionView) -> Sign | None:
    """The failure signal that the outcome judge weighed."""
    found = view.outcome.reasons if view.outcome else ()
    grave = [one for one in found if one.kind in ("failure_signal", "check_failed") and one.weight <= GRAVE]
    return Sign(grave[0].turn, grave[0].quote) if grave else None


def score_churn(view: SessionView) -> SignalScore | None:
    """The same file edited over and over, each time with a failure after it."""
    edits = [(number, call) for number, call in list_placed_calls(view) if list_made_edits(call)]
    if not edits:
        return None
    times = attempts.fact(view.turns).edits_after_failure
    most = Counter(edit.path for _, call in edits for edit in list_made_edits(call)).most_common(1)[0][0]
    number = next(n for n, call in edits if any(edit.path == most for edit in list_made_edits(call)))
    quote = next((quote_call(call) for n, call in edits if n == number and call.target == most), "")
    signs = (Sign(number, quote),) if quote else (quote_turn(view.turns, number),)
    told = f"one file was edited {times} times, each followed by a failure" if times > 1 else "no edit in circles"
    return SignalScore(clamp(1 - 0.15 * max(0, times - 1)), told, signs, weigh_occasions(len(edits), 5))


# --- words ------------------------------------------------------------------------------------


def score_file_links(view: SessionView) -> SignalScore | None:
    """Files named so that one click opens them."""
    seen = view.seen["file_links"]
    if seen.share is None or seen.of < 2:
        return None
    told = f"{len(seen.signs)} of {seen.of} files in its answers are links"
    return SignalScore(clamp(0.6 + 0.5 * seen.share), told, pick_signs(seen, 1), weigh_occasions(seen.of, 6))


def score_emoji(view: SessionView) -> SignalScore | None:
    """Pictograms that nobody asked for."""
    seen = view.seen["emoji"]
    if seen.share is None:
        return None
    told = f"pictograms in the answers of {format_count(len(seen.signs), 'turn')}" if seen.signs else "no pictograms"
    shown = 0.6 if seen.signs else 0.2  # that nothing is there shows less than that something is
    return SignalScore(clamp(1 - 0.8 * seen.share), told, pick_signs(seen, 1), shown)


# --- what was spent ---------------------------------------------------------------------------

NOT_TOLD = tokens.TokenCounts()


def score_cache(view: SessionView) -> SignalScore | None:
    """Input that came from the cache."""
    spent = tokens.fact(view.turns).tokens or NOT_TOLD
    whole = spent.input + spent.cache_read + spent.cache_write
    responses = sum(len(turn.spends) for turn in view.turns)
    if responses < 5 or not whole:
        return None
    share = spent.cache_read / whole
    told = f"{share:.0%} of the input came from the cache"
    return SignalScore(clamp((share - 0.5) / 0.45), told, (quote_dearest_turn(view),), weigh_occasions(responses, 10))


def score_tokens(view: SessionView) -> SignalScore | None:
    """Tokens that were not from the cache, for each call."""
    spent, there = tokens.fact(view.turns).tokens or NOT_TOLD, list_ended_calls(view)
    fresh = spent.input + spent.cache_write + spent.output
    if len(there) < 3 or not fresh:
        return None
    each = fresh / len(there)
    told = f"{each:,.0f} new tokens for each call"
    return SignalScore(
        place_in_norm(each, "tokens_per_call"), told, (quote_dearest_turn(view),), weigh_occasions(len(there), 10)
    )


def score_cost(view: SessionView) -> SignalScore | None:
    """What a turn cost; half as good where nothing was completed for it."""
    usd = tokens.fact(view.turns).cost_usd
    asked = sum(turn.prompt is not None for turn in view.turns)
    if not usd or not asked:
        return None
    value, told = place_in_norm(usd / asked, "usd_per_turn"), f"{usd / asked:.2f} USD a turn"
    if view.outcome and view.outcome.goal_complete is False:
        value, told = value / 2, f"{told}, and the goal was not completed"
    return SignalScore(value, told, (quote_dearest_turn(view),))


def quote_dearest_turn(view: SessionView) -> Sign:
    """Words of the turn that spent most."""

    def fresh(number: int) -> int:
        used = [spend.usage for spend in view.turns[number - 1].spends]
        return sum(one.input + one.cache_write + one.output for one in used)

    return quote_turn(view.turns, max(range(1, len(view.turns) + 1), key=fresh))
