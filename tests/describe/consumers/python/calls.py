"""Calls the bookshop and the museum by the clients that openapi-python-client made.

`calls.py <URL of the bookshop> <URL of the museum>`. mypy checks the types of what is sent and of
what comes back.
"""

import datetime
import io
import sys
from uuid import UUID

import bookshop
import museum
from bookshop.api.books import add_book, list_books, list_stock
from bookshop.api.orders import get_order, place_order
from bookshop.models import (
    Address,
    Book,
    ListBooksResult,
    ListBooksSort,
    Order,
    OrderDraft,
    OrderDraftLinesItem,
    Problem,
    StockedBook,
    ValidationProblem,
)
from museum import models
from museum.api.accounts import get_bearer, get_keyed
from museum.api.default import echo_headers, echo_path, echo_query, echo_rest
from museum.api.exhibits import add_exhibit, get_exhibit, list_exhibits, remove_exhibit
from museum.api.forms import add_pictures, order_ticket
from museum.api.models import (
    convert,
    echo_counts,
    echo_happenings,
    echo_maybe,
    echo_room,
    echo_staff,
)
from museum.api.streams import get_bytes, get_lines, get_picture, put_bytes
from museum.types import File

CORNER = "corner"
NOON = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)


def call_bookshop(origin: str) -> None:
    clerk = bookshop.AuthenticatedClient(base_url=origin, token="grace")
    page = list_books.sync(CORNER, client=clerk, limit=2, sort=ListBooksSort.PRICE)
    assert isinstance(page, ListBooksResult)
    assert [book.price for book in page.items] == [699, 799], page

    new = StockedBook(
        isbn="9780199232765", title="Emma", author="Jane Austen", price=1499, stock=5, cost=900
    )
    added = add_book.sync_detailed(CORNER, client=clerk, body=new)
    assert added.status_code == 201, added
    assert isinstance(added.parsed, Book) and added.parsed.price == 1499, added

    address = Address(street="High Street", postcode="CV1", city="Coventry")
    lines = [OrderDraftLinesItem(isbn="9780199232765", quantity=2)]
    order = place_order.sync(CORNER, client=clerk, body=OrderDraft(lines=lines, address=address))
    assert isinstance(order, Order), order
    assert order.total == 2998 and order.placed_at.tzinfo is not None, order
    assert order.address.city == "Coventry", order

    missing = get_order.sync(CORNER, order.id + 1, client=clerk)
    assert isinstance(missing, Problem) and missing.status == 404, missing
    invalid = get_order.sync(CORNER, 0, client=clerk)
    assert isinstance(invalid, ValidationProblem) and invalid.errors[0].path == ["id"], invalid
    stranger = bookshop.AuthenticatedClient(base_url=origin, token="nobody")
    refused = place_order.sync(CORNER, client=stranger, body=OrderDraft(lines=lines, address=address))
    assert isinstance(refused, Problem) and refused.status == 401, refused

    stock = list_stock.sync_detailed(CORNER, client=clerk)
    assert len(stock.content.splitlines()) == 5, stock


def call_museum(origin: str) -> None:
    client = museum.Client(base_url=origin)
    call_exhibits(client)
    call_models(client)
    call_parameters(client)
    call_forms(client)
    call_streams(client)

    bearer = get_bearer.sync(client=museum.AuthenticatedClient(base_url=origin, token="ada"))
    assert not isinstance(bearer, models.Problem) and bearer is not None and bearer.user == "ada", (
        bearer
    )
    nobody = get_keyed.sync(client=museum.AuthenticatedClient(base_url=origin, token="none"))
    assert isinstance(nobody, models.Problem) and nobody.status == 401, nobody


def person(name: str) -> models.Person:
    return models.Person(
        id=UUID(int=1), name=name, email="ada@example.org", born=datetime.date(1815, 12, 10)
    )


def call_exhibits(client: museum.Client) -> None:
    new = models.NewExhibit(
        name="Coin",
        kind=models.NewExhibitKind.COIN,
        year=None,
        acquired=NOON,
        size=models.NewExhibitSize(width=1.5, height=2),
        maker=person("Ada"),
        lender=None,
        weight=0.5,
        insured="12345678901234567890",
        colour=[1, 2, 3],
        place=[0.5, 1],
    )
    added = add_exhibit.sync(client=client, body=new)
    assert isinstance(added, models.Exhibit), added
    assert added.acquired == NOON and added.maker.born == datetime.date(1815, 12, 10), added
    assert added.tags == [] and added.shown and added.size.depth == 0 and added.lender is None, (
        added
    )
    got = get_exhibit.sync(added.id, client=client)
    assert got == added, got
    all_of_kind = list_exhibits.sync(client=client, kind=models.ListExhibitsKind.COIN, limit=1)
    assert isinstance(all_of_kind, models.ListExhibitsResult) and all_of_kind.items == [added], (
        all_of_kind
    )

    new.name = "taken"
    taken = add_exhibit.sync(client=client, body=new)
    assert isinstance(taken, models.Taken) and taken.by == "Ada", taken
    assert remove_exhibit.sync_detailed(added.id, client=client).status_code == 204
    gone = get_exhibit.sync(added.id, client=client)
    assert isinstance(gone, models.Problem) and gone.status == 404, gone


def call_models(client: museum.Client) -> None:
    inner = models.Room(name="B", rooms=[], curator=person("Ada"))
    room = echo_room.sync(client=client, body=models.Room(name="A", rooms=[inner], next_=None))
    assert isinstance(room, models.Room) and room.rooms[0].curator == person("Ada"), room

    happenings = echo_happenings.sync(
        client=client,
        body=[
            models.Tour(kind="tour", guide=person("Ada"), at=NOON),
            models.Concert(kind="concert", pieces=["Fugue"]),
        ],
    )
    assert isinstance(happenings, list), happenings
    tour, concert = happenings
    assert not isinstance(tour, (models.Concert, models.HappeningTalk)) and tour.at == NOON, tour
    assert isinstance(concert, models.Concert) and concert.pieces == ["Fugue"], concert

    converted = convert.sync(
        client=client, body=models.Converted(lower="ABC", count="7.5", length="four")
    )
    assert isinstance(converted, models.Conversion), converted
    assert (converted.lower, converted.count) == ("abc", 7.5), converted

    staff = echo_staff.sync(client=client, body=models.Person2(number=1, name="Ada"))
    assert isinstance(staff, models.EchoStaffResult) and staff.staff.number == 1, staff
    counts = models.EchoCountsBody.from_dict({"a": 1})
    counted = echo_counts.sync(client=client, body=counts)
    assert not isinstance(counted, models.Problem) and counted is not None and counted["a"] == 1, (
        counted
    )
    assert echo_maybe.sync_detailed(client=client, body=None).content == b"null"


def call_parameters(client: museum.Client) -> None:
    path = echo_path.sync(
        "a/b ä",
        3,
        0.5,
        "12345678901234567890",
        models.EchoPathKind.COIN,
        UUID(int=2),
        NOON.date(),
        client=client,
    )
    assert isinstance(path, models.EchoPathResult), path
    assert (path.word, path.count, path.big, path.kind) == (
        "a/b ä",
        3,
        "12345678901234567890",
        "coin",
    ), path

    query = echo_query.sync(
        client=client,
        word="word",
        since=NOON,
        day=NOON.date(),
        id=UUID(int=3),
        words=["a,b", "c"],
        counts=[1, 2],
        kinds=[models.EchoQueryKindsItem.COIN],
        either=7,
        flag=True,
        from_="here",
    )
    assert isinstance(query, models.EchoQueryResult), query
    assert query.since == NOON and query.counts == [1, 2] and query.words == ["a,b", "c"], query
    assert (
        query.either == 7 and query.flag is True and query.share == 0.5 and query.from_ == "here"
    ), query
    invalid = echo_query.sync(client=client, word="w", counts=[])
    assert isinstance(invalid, models.ValidationProblem), invalid
    assert {issue.path[0] for issue in invalid.errors} == {"word", "counts"}, invalid

    headers = echo_headers.sync(
        client=client, x_count=3, x_word="a", theme=models.EchoHeadersTheme.LIGHT
    )
    assert isinstance(headers, models.EchoHeadersResult), headers
    assert (headers.count, headers.word, headers.theme, headers.visits) == (
        3,
        "a",
        "light",
        None,
    ), headers
    rest = echo_rest.sync("a/b", client=client)
    assert isinstance(rest, models.EchoRestResult) and rest.path == "a/b", rest


def call_forms(client: museum.Client) -> None:
    ticket = order_ticket.sync(
        client=client,
        body=models.TicketInput(
            name="Ada", email="ada@example.org", day=NOON.date(), rooms=["A", "B"], seats=[1, 2]
        ),
    )
    assert isinstance(ticket, models.Ticket), ticket
    assert (ticket.count, ticket.day, ticket.rooms, ticket.seats) == (
        1,
        NOON.date(),
        ["A", "B"],
        [1, 2],
    ), ticket

    pictures = add_pictures.sync(
        client=client,
        body=models.Pictures(
            caption="Ada",
            cover=File(io.BytesIO(b"123"), "cover.png", "image/png"),
            details=[File(io.BytesIO(b"4"), "a.txt"), File(io.BytesIO(b"56"), "b.txt")],
            year=1843,
            rights=models.PicturesRights(holder="Grace"),
            labels=[models.PicturesLabelsItem("a"), models.PicturesLabelsItem("b")],
        ),
    )
    assert isinstance(pictures, models.AddPicturesResult), pictures
    assert (pictures.sizes, pictures.year, pictures.labels) == ([3, 1, 2], 1843, ["a", "b"]), (
        pictures
    )


def call_streams(client: museum.Client) -> None:
    put = put_bytes.sync(client=client, body=File(io.BytesIO(b"1234")))
    assert isinstance(put, models.PutBytesResult) and put.size == 4, put
    assert get_bytes.sync_detailed(client=client).content == bytes([1, 2, 3])
    assert len(get_lines.sync_detailed(client=client, count=3).content.splitlines()) == 3
    picture = get_picture.sync(client=client)
    assert isinstance(picture, File) and picture.payload.read() == b"\x89PNG", picture


call_bookshop(sys.argv[1])
call_museum(sys.argv[2])
print("Done")
