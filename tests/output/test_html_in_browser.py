"""The page as people use it: in a real browser, by mouse and by keyboard, in both themes, small and large."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from page_sample import PAGE, hostile, large_program, many_findings
from playwright.sync_api import Browser, Locator, Page, sync_playwright
from sample import BRANCH, DATA, SILENT, WIDE

from exportlint.finding import TrailStep
from exportlint.output import render
from exportlint.output.report import RenderOptions, Report
from exportlint.output.sweeps import page as sweep_page
from exportlint.output.sweeps.charts import Bars

if TYPE_CHECKING:
    from collections.abc import Iterator

AXE = Path(__file__).with_name("html") / "axe.min.js"
OPEN_ALL = """() => {
  for (const one of document.querySelectorAll(".opener[aria-expanded=false]")) one.click();
  for (const one of document.querySelectorAll(".target")) one.open = true;
}"""
FILLED = "() => [...document.querySelectorAll('.target[open] .body')].every(one => one.childElementCount)"
OPEN_PARTS = "() => { for (const one of document.querySelectorAll('.part')) { one.open = true; one.fill(); } }"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("these tests need a browser: apt-get install -y --no-install-recommends chromium")
    with sync_playwright() as playwright:
        # No sandbox of its own: tests may run as root, and the pages are made here.
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


Shown = Callable[..., Page]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Shown]:
    """Shows a report. At the end nothing was complained of, and nothing was asked of any network."""
    wrong: list[str] = []
    asked: list[str] = []
    contexts = []

    def shown(report: Report, address: str = "", **how: Any) -> Page:
        file = tmp_path / "report.html"
        file.write_text(render("html", report, RenderOptions()), "utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **how})
        contexts.append(context)
        context.set_default_timeout(10_000)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(f"{file.as_uri()}{address}")
        return page

    yield shown
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith((tmp_path / "report.html").as_uri())] == []


def listed(page: Page) -> list[str]:
    """The ids of the findings in sight."""
    found: list[str] = page.locator(".finding").evaluate_all("all => all.map(one => one.dataset.finding)")
    return found


def state(page: Page) -> str:
    found: str = page.evaluate("location.hash")
    return found


def finding(page: Page, name: str) -> Locator:
    return page.locator(f'[data-finding="{name}"]')


def in_page(page: Page, what: str, act: str) -> int:
    """Acts in the page, prints the milliseconds until its layout is done, and gives the number of elements then."""
    took, nodes = page.evaluate(
        f"() => {{ const start = performance.now(); {act}; document.body.offsetHeight;"
        " return [performance.now() - start, document.getElementsByTagName('*').length]; }"
    )
    print(f"{what}: {took:.1f} ms, {nodes} elements")  # noqa: T201
    return int(nodes)


# Findings.


def test_filters_narrow_the_list_and_stand_in_the_address(show: Shown) -> None:
    page = show(PAGE)
    assert len(listed(page)) == len(PAGE.shown)
    page.locator("[data-field=severity] [data-value=warning]").click()
    assert listed(page) == [DATA.fingerprint]
    assert state(page) == "#?severity=warning"
    page.locator("[data-field=severity] [data-value=note]").click()
    page.locator("select[data-field=rule]").select_option(WIDE.rule)
    assert listed(page) == [WIDE.fingerprint]
    assert "1 of 9 findings" in page.locator("#count").inner_text()
    page.reload()
    assert listed(page) == [WIDE.fingerprint]
    assert page.locator("select[data-field=rule]").input_value() == WIDE.rule
    page.get_by_role("button", name="Clear filters").click()
    page.locator("select[data-field=file]").select_option("src/gone.py")
    assert listed(page) == ["4"]
    page.get_by_role("button", name="Clear filters").click()
    page.locator("[data-field=evidence] [data-value=discovered]").click()
    assert listed(page) == [SILENT.fingerprint, "8"]
    page.get_by_role("button", name="Clear filters").click()
    page.locator("[data-field=standing] [data-value=suppressed]").click()
    assert listed(page) == ["5"]


def test_search_looks_at_messages_rules_and_advice(show: Shown) -> None:
    page = show(PAGE)
    for words, expected in (
        ("AUTOGRAD", [DATA.fingerprint]),
        ("torch.cond", [BRANCH.fingerprint, "6"]),
        ("second place", ["6"]),
        ("no such words", []),
    ):
        page.locator("#search").fill(words)
        assert listed(page) == expected, words
    page.locator("#search").fill("a+b&c=d#e?f")
    page.reload()
    assert page.locator("#search").input_value() == "a+b&c=d#e?f"


def test_the_order_is_chosen(show: Shown) -> None:
    page = show(PAGE)
    heads = page.locator(".group")
    assert heads.first.inner_text().startswith("target src/model.py:Net: cause 1 of 2: data-dependent-branch")
    page.locator("select[data-field=order]").select_option("file")
    assert [text.rsplit(" ", 1)[0] for text in heads.all_inner_texts()] == ["src/gone.py", "src/model.py"]
    assert state(page) == "#?order=file"


def test_a_permalink_opens_its_finding_and_filters_keep_it(show: Shown) -> None:
    page = show(PAGE, f"#finding-{DATA.fingerprint}")
    assert finding(page, DATA.fingerprint).locator(".details").is_visible()
    assert page.evaluate("document.activeElement.closest('.finding').dataset.finding") == DATA.fingerprint
    page.locator("[data-field=severity] [data-value=warning]").click()
    assert state(page) == f"#finding-{DATA.fingerprint}?severity=warning"
    assert finding(page, DATA.fingerprint).locator(".details").is_visible(), "what was open is open"
    page.locator("[data-field=severity] [data-value=warning]").click()
    page.locator("[data-field=severity] [data-value=error]").click()
    assert DATA.fingerprint not in listed(page)
    page.get_by_role("button", name="Show it").click()
    assert finding(page, DATA.fingerprint).locator(".details").is_visible()
    assert state(page) == f"#finding-{DATA.fingerprint}"


def test_the_link_of_a_finding_is_its_address(show: Shown) -> None:
    page = show(PAGE, "#?severity=note")
    first = page.locator(".finding").first
    first.locator(".opener").click()
    link = first.locator(".permalink").get_attribute("href")
    assert link == f"#finding-{listed(page)[0]}"
    page.evaluate("hash => { location.hash = hash; }", f"#finding-{DATA.fingerprint}")
    finding(page, DATA.fingerprint).locator(".details").wait_for()


def test_a_finding_tells_all_that_is_known_of_it(show: Shown) -> None:
    page = show(PAGE, f"#finding-{BRANCH.fingerprint}")
    shown = finding(page, BRANCH.fingerprint)
    assert shown.locator("mark").inner_text() == "x.sum() > 0"
    assert shown.locator(".is-place .ln").all_inner_texts() == ["4"]
    assert "x: tensor, 2 dims" in shown.locator(".note").inner_text()
    assert shown.locator(".facts .chip").all_inner_texts() == ["non-strict: refused", "strict: refused"]
    assert "src/model.py:2 self.net(x) in forward" in " ".join(shown.locator(".facts").inner_text().split())
    links = shown.locator(".facts a").evaluate_all("all => all.map(one => one.href)")
    assert links == [link.url for link in BRANCH.links]
    assert shown.locator("h5 .chip").all_inner_texts() == ["verified", "unsafe", "verified"]
    assert shown.locator(".removed, .added").all_inner_texts() == [
        "-        if x.sum() > 0:  # 100%, they said",
        "+        x = torch.where(  # 100%, they said",
    ]


def test_the_trail_of_a_value_is_drawn_from_its_origin_to_the_place(show: Shown) -> None:
    page = show(PAGE, f"#finding-{BRANCH.fingerprint}")
    shown = finding(page, BRANCH.fingerprint)
    assert shown.locator(".step").all_inner_texts() == ["1 self.net(…)", "2 x of forward"]
    assert shown.locator(".row:has(.step) .ln").all_inner_texts() == ["2", "3"]
    assert (shown.locator(".trail path").count(), shown.locator(".trail polygon").count()) == (2, 2)
    middle = shown.locator(".is-place").evaluate("row => row.offsetTop + row.offsetHeight / 2")
    assert shown.locator(".trail path").last.get_attribute("d").endswith(f" {middle:g}")


def test_a_trail_through_another_file_shows_that_too(show: Shown) -> None:
    away = replace(
        BRANCH, trail=(TrailStep("`x` of forward", "src/model.py", 3), TrailStep("`made()`", "src/other.py", 2))
    )
    lines = {"src/other.py": ["def made():", "    return 1"]}
    page = show(
        replace(
            PAGE,
            findings=(away,),
            source=lambda path, line: dict(enumerate(lines.get(path, []), 1)).get(line) or PAGE.source(path, line),
        ),
        f"#finding-{BRANCH.fingerprint}",
    )
    assert page.locator(".details .file").all_inner_texts() == [
        "src/other.py, where the value comes from",
        "src/model.py",
    ]
    assert page.locator(".code .step").all_inner_texts() == ["1 made()", "2 x of forward"]


def test_columns_count_letters_as_python_does(show: Shown) -> None:
    line = '        y = "🎉🎈" + x.data'
    start = line.index("x.data") + 1
    odd = replace(DATA, line=1, end_line=1, column=start, end_column=start + 6)
    page = show(
        Report("2.13.0", "strict", 1, (odd,), source=lambda _, number: line if number == 1 else None), "#finding-1"
    )
    assert page.locator("mark").inner_text() == "x.data"


# By keyboard.


def test_findings_are_walked_through_by_keyboard(show: Shown) -> None:
    page = show(PAGE)
    first, second = listed(page)[:2]
    page.keyboard.press("j")
    assert state(page) == f"#finding-{first}"
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    assert finding(page, second).locator(".details").is_visible()
    assert finding(page, second).locator(".opener").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Enter")
    assert finding(page, second).locator(".details").count() == 0
    page.keyboard.press("k")
    assert state(page) == f"#finding-{first}"
    page.keyboard.press("/")
    page.keyboard.type("jk/")
    assert page.locator("#search").input_value() == "jk/", "no command while somebody writes"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "search"


def test_the_first_tab_skips_to_the_findings(show: Shown) -> None:
    page = show(PAGE, "#?severity=note")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "findings"
    assert state(page) == "#?severity=note", "the address is the state of the filters"


def test_focus_is_seen(show: Shown) -> None:
    page = show(PAGE)
    for _ in range(12):
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


# The ladder.


def test_a_stage_tells_its_time_and_detail_by_mouse_and_by_keyboard(show: Shown) -> None:
    page = show(PAGE)
    cell = page.locator('.cell[data-stage="export-non-strict"]').first
    assert (cell.locator(".word").inner_text(), cell.get_attribute("class")) == ("refused", "cell is-refused")
    cell.hover()
    tip = page.locator("#tip")
    assert tip.locator("p").first.inner_text() == "export-non-strict refused, 1.50 s"
    assert "GuardOnDataDependentSymNode" in tip.inner_text()
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    page.locator('.cell[data-stage="load"]').first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "tip"
    assert tip.locator("p").first.inner_text().startswith("export-non-strict")
    page.keyboard.press("Enter")
    assert listed(page) == [BRANCH.fingerprint]
    assert state(page).startswith(f"#finding-{BRANCH.fingerprint}?target=")


def test_a_name_in_the_ladder_opens_its_target(show: Shown) -> None:
    page = show(PAGE)
    page.get_by_role("link", name="other.py").click()
    assert page.locator("#target-2 .plain").first.is_visible()
    assert page.locator("#target-1 .plain").count() == 0, "what nobody opened is not made"


# Targets.


def open_target(page: Page) -> None:
    """Click it open. A browser tells of that a moment later, and then the page fills it."""
    page.locator("#target-1 > summary").click()
    page.wait_for_function(f"({FILLED})() && document.querySelector('.target[open]') !== null")


def test_breaks_are_in_the_call_tree_and_graphs_have_their_share(show: Shown) -> None:
    page = show(PAGE)
    open_target(page)
    target = page.locator("#target-1")
    assert target.locator(".flow li").all_inner_texts() == [
        "graph 1: 3 operators from src/model.py:3, 30 %",
        "break GB0170 at src/model.py:4",
        "graph 2: 2 operators from src/model.py:5, 12 %",
        "foreign at src/model.py:5",
        "graph 3: 1 operator",
    ]
    assert target.locator(".tree > li").count() == 1
    assert target.locator(".tree > li > ul > li > .place").all_inner_texts() == [
        "src/model.py:4 in forward",
        "src/model.py:5 in helper",
    ]
    assert "3 times" in target.locator(".break").first.inner_text()
    assert target.locator(".bar .rest").inner_text() == "outside of the graphs 58 %"


def test_eager_s_time_is_drawn_by_module_with_the_places_of_breaks(show: Shown) -> None:
    page = show(PAGE)
    open_target(page)
    flame = page.locator("#target-1 .flame")
    # The fourth is too short to be seen.
    assert flame.locator(".what").all_inner_texts() == ["Net", "first (Linear)", "helper (Helper)"]
    assert flame.locator(".is-cut > .what").all_inner_texts() == ["Net", "helper (Helper)"]
    assert flame.locator(".call").first.bounding_box()["width"] > 0.98 * flame.bounding_box()["width"]
    widths = [box["width"] for one in flame.locator(".call").all() if (box := one.bounding_box())]
    assert [width / widths[0] for width in widths] == pytest.approx([1, 0.6, 0.25], abs=0.02)
    assert flame.locator(".call").nth(2).get_attribute("title") == "helper (Helper), 0.05 ms, 25 %, 1 break"
    page.get_by_text("Eager's time as a table").click()
    rows = page.locator("#target-1 table", has_text="forward").locator("tbody tr")
    assert [one.strip().split("\t") for one in rows.all_inner_texts()][3] == ["helper.act (ReLU)", "0.0004", "0.2 %"]


def test_sizes_guards_operators_and_lines_that_never_ran(show: Shown) -> None:
    page = show(PAGE)
    open_target(page)
    page.evaluate(OPEN_PARTS)
    text = page.locator("#target-1").inner_text()
    for expected in (
        'Dim("batch", min=2)',
        "has at most 64 rows",
        "aten.foo.default",
        "no kernel | for bool",
        "these lines never ran",
    ):
        assert expected in text
    assert page.locator("#target-1 .code .is-place .ln").all_inner_texts() == ["7", "8"]


def test_source_and_program_light_each_other(show: Shown) -> None:
    page = show(PAGE)
    open_target(page)
    page.evaluate(OPEN_PARTS)
    left, right = page.locator(".pane.source"), page.locator(".pane.operations")
    left.locator('[data-key="src/model.py:4"]').hover()
    lit = right.locator(".block.is-hot")
    # As text, not as shown: what is out of sight is not laid out, and the browser takes it for empty.
    assert [("aten.sum" in text, "aten.gt" in text) for text in lit.all_text_contents()] == [
        (True, False),
        (False, True),
    ]
    right.locator('[data-key="src/model.py:5"]').hover()
    assert left.locator(".is-hot .ln").all_text_contents() == ["5"]
    assert lit.count() == 1
    assert "(in place)" in (lit.text_content() or "")
    page.mouse.move(0, 0)  # else what scrolls below the mouse is lit, too
    left.focus()
    page.keyboard.press("ArrowDown")
    page.locator(".pane.source[aria-activedescendant]").wait_for()
    assert left.locator(".is-hot .ln").all_text_contents() == ["7"]
    assert page.locator(f"#{left.get_attribute('aria-activedescendant')}").get_attribute("aria-selected") == "true"
    assert right.locator(".file").all_text_contents() == ["true_graph_0"]


# The whole page.


def test_hostile_text_is_text(show: Shown) -> None:
    page = show(hostile())
    page.evaluate(OPEN_ALL)
    page.wait_for_function(FILLED)
    page.evaluate(OPEN_PARTS)
    page.locator("#search").fill("</script>")
    page.locator(".cell").first.hover()
    assert page.evaluate("window.pwned === undefined && document.images.length === 0 && document.scripts.length === 2")
    assert page.locator("[onerror], a[href^=javascript]").count() == 0
    assert "\u202e" not in page.locator(".details .said").inner_text(), "what turns the direction of text is named"
    assert "⟨U+202E⟩" in page.locator(".details .said").inner_text()


def serious_of(page: Page) -> list[tuple[str, str, str]]:
    """What axe complains of."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        (one["id"], node["html"][:120], node["failureSummary"])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_serious(show: Shown, scheme: str, width: int) -> None:
    page = show(PAGE, color_scheme=scheme, viewport={"width": width, "height": 800}, reduced_motion="reduce")
    page.evaluate(OPEN_ALL)
    page.wait_for_function(FILLED)
    page.evaluate(OPEN_PARTS)
    page.locator(".pane.source [data-key]").first.hover()
    page.locator("[data-field=severity] [data-value=error]").click()
    assert serious_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing is cut off at the side"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_the_page_of_a_sweep_is_filtered_and_read_by_all(
    browser: Browser, tmp_path: Path, scheme: str, width: int
) -> None:
    rows = [(f"zoo:net{number}", "refused", "a `DynamicCache` is returned") for number in range(60)]
    table = sweep_page.Table(("target", "outcome", "why"), [*rows, ("zoo:tree", "crashed", "SIGSEGV")], "targets")
    chart = Bars("Outcomes by family", {"zoo:net": {"refused": 60}, "zoo:tree": {"crashed": 1}}, "targets")
    made = sweep_page.Page("61 targets", [sweep_page.Section("Targets", [chart, table])], "more", ["It was quick."])
    file = tmp_path / "sweep.html"
    file.write_text(sweep_page.as_html(made), "utf-8")
    wrong: list[str] = []
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    assert page.locator("tbody tr:visible").count() == 61
    page.get_by_role("searchbox").fill("CRASHED tree")
    assert page.locator("tbody tr:visible").all_inner_texts() == ["zoo:tree\tcrashed\tSIGSEGV"]
    assert page.locator("img").evaluate("one => one.complete && one.naturalWidth > 600"), "the plot is drawn"
    assert serious_of(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert wrong == []
    page.close()


def test_the_theme_is_chosen_and_kept(show: Shown) -> None:
    page = show(PAGE, color_scheme="light")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    button = page.locator("#theme")
    button.click()
    assert (button.inner_text(), page.evaluate(paper)) == ("Theme: light", light)
    button.click()
    assert button.inner_text() == "Theme: dark"
    assert page.evaluate(paper) != light
    page.reload()
    assert page.evaluate(paper) != light


def test_paper_has_everything_open_and_no_controls(show: Shown) -> None:
    page = show(replace(PAGE, findings=(*PAGE.findings, *many_findings(100).findings)), color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".details").count() == len(PAGE.shown) + 100
    assert page.locator(".target:not([open]), .part:not([open])").count() == 0
    assert not page.locator(".control:visible, .permalink:visible, .skip:visible").count()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_without_scripts_the_findings_are_a_list(show: Shown) -> None:
    page = show(PAGE, java_script_enabled=False)
    assert page.locator("noscript li").count() == len(PAGE.shown)
    assert page.locator(".cell").first.is_visible()
    assert not page.locator(".control[hidden]:visible").count()


# What is large. Times are printed, since machines differ; what is held is how much the browser was given to do.

MOST_ELEMENTS = 1500


def test_two_thousand_findings_cost_what_is_looked_at(show: Shown) -> None:
    page = show(many_findings(2000))
    seen = [
        in_page(page, "2,000 findings, a filter", "document.querySelector('[data-value=note]').click()"),
        in_page(
            page,
            "a search",
            "const box = document.getElementById('search'); box.value = 'number 77'; box.dispatchEvent(new Event('input'))",
        ),
        in_page(
            page,
            "all of them again",
            "[...document.querySelectorAll('button')].find(one => one.textContent === 'Clear filters').click()",
        ),
        in_page(
            page,
            "another order",
            "const order = document.querySelector('[data-field=order]'); order.value = 'rule'; order.dispatchEvent(new Event('change'))",
        ),
        in_page(page, "a finding opened", "document.querySelector('.opener').click()"),
        in_page(page, "the next one", "dispatchEvent(new KeyboardEvent('keydown', { key: 'j' }))"),
    ]
    seen.append(
        in_page(
            page,
            "the last one by its address",
            "location.hash = '#finding-00000000000007cf'; dispatchEvent(new Event('hashchange'))",
        )
    )
    assert max(seen) < MOST_ELEMENTS
    last = finding(page, "00000000000007cf")
    page.wait_for_timeout(200)  # what stands above it is made meanwhile
    assert last.locator(".details").is_visible()
    assert 0 <= last.bounding_box()["y"] < 800, "it stays in sight"
    page.keyboard.press("k")
    first = listed(page)[0]
    page.mouse.wheel(0, -3000)
    page.wait_for_timeout(200)
    assert listed(page).index(first) > 0, "the list grows upwards, too"


def test_five_thousand_operations_cost_what_is_looked_at(show: Shown) -> None:
    page = show(large_program(5000))
    open_target(page)
    closed = page.evaluate("document.getElementsByTagName('*').length")
    program = "[...document.querySelectorAll('.part')].find(one => one.textContent.startsWith('Exported program'))"
    nodes = in_page(page, "5,000 operations, opened", f"const part = {program}; part.open = true; part.fill()")
    assert nodes - closed < 5000, "the first operations only"
    hover = "document.querySelector('.pane.source [data-key$=\":{line}\"]').dispatchEvent(new MouseEvent('mouseover', {{ bubbles: true }}))"
    in_page(page, "a line of source hovered", hover.format(line=15))
    in_page(page, "the last line hovered", hover.format(line=109))
    in_page(
        page,
        "an operation hovered",
        "document.querySelector('.block').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))",
    )
    assert page.locator(".is-hot").count() >= 2
    page.locator(".pane.operations").evaluate("pane => { pane.scrollTop = pane.scrollHeight; }")
    page.locator(".block").nth(200).wait_for(state="attached")
