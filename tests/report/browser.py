"""Chromium through selenium: what the page shows, which errors it has, what it asks for."""

import json
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DRIVERS = ("chromedriver", "chromium.chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,1000",
)


def start_browser():
    """A driver of headless Chromium, or a skip that says what is missing."""
    selenium = pytest.importorskip("selenium", reason="selenium is not installed: pip install selenium")
    browser, driver = (next((path for path in map(shutil.which, names) if path), None) for names in (BROWSERS, DRIVERS))
    if browser is None or driver is None:
        pytest.skip("no Chromium with its driver on PATH: apt-get install chromium chromium-driver")
    assert selenium
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


class Page:
    """A page in the browser, with words for what tests look at."""

    def __init__(self, driver, path):
        self.driver, self.url = driver, path.as_uri()
        driver.get_log("browser"), driver.get_log("performance")  # what pages before this one left behind
        driver.get(self.url)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent.trim()", selector)

    def texts(self, selector):
        return self.run(
            "return Array.from(document.querySelectorAll(arguments[0])).map((e) => e.textContent.trim())", selector
        )

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def click(self, selector):
        """A click by the mouse, at the middle of the thing, once it is in view."""
        from selenium.webdriver.common.action_chains import ActionChains

        thing = self.find(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", thing)
        ActionChains(self.driver).move_to_element(thing).click().perform()

    def hover(self, selector):
        from selenium.webdriver.common.action_chains import ActionChains

        thing = self.find(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", thing)
        ActionChains(self.driver).move_to_element(thing).perform()
        return self.text("#tip")

    def choose(self, selector, value):
        """Choose an option of a select."""
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_value(str(value))

    def table(self):
        """{feature: [numbers of the methods]} of the table of values, in the sequence of the page."""
        lines = self.run(
            "return Array.from(document.querySelectorAll('#values tbody tr')).map((tr) => [tr.querySelector('th')"
            ".textContent, Array.from(tr.querySelectorAll('td.number')).map((td) => td.textContent)])"
        )
        return {name: [as_number(cell) for cell in cells] for name, cells in lines}

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that the page asked for, beside itself and what it carries along."""
        asked = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                asked.append(message["params"]["request"]["url"])
        assert any(url == self.url for url in asked), "the log of requests is empty: this would notice nothing"
        return [url for url in asked if url != self.url and not url.startswith("data:")]


def as_number(text):
    return float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))
