// Calls the bookshop and the museum by the clients that oapi-codegen made: `calls <bookshop> <museum>`.
package main

import (
	"bytes"
	"clients/bookshop"
	"clients/museum"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/runtime/types"
)

var (
	ctx  = context.Background()
	noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	day  = types.Date{Time: time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC)}
)

func main() {
	callBookshop(os.Args[1])
	client := value(museum.NewClientWithResponses(os.Args[2]))
	callExhibits(client)
	callModels(client)
	callParameters(client)
	callForms(client)
	callStreams(client)
	callAccounts(os.Args[2])
	fmt.Println("Done")
}

func callBookshop(origin string) {
	client := value(bookshop.NewClientWithResponses(origin, bookshop.WithRequestEditorFn(token("grace"))))
	page := value(client.ListBooksWithResponse(ctx, "corner", &bookshop.ListBooksParams{
		Limit: new(int32(2)), Sort: new(bookshop.Price),
	}))
	books := page.JSON200
	check(books != nil && len(books.Items) == 2 && books.Items[0].Price == 699, page.Body)

	added := value(client.AddBookWithResponse(ctx, "corner", bookshop.StockedBook{
		Isbn: "9780199232765", Title: "Emma", Author: "Jane Austen", Price: 1499, Stock: 5, Cost: 900,
	}))
	check(added.JSON201 != nil && added.JSON201.Price == 1499, added.Body)

	order := bookshop.OrderDraft{Address: bookshop.Address{Street: "High Street", Postcode: "CV1", City: "Coventry"}}
	add(&order.Lines).Isbn = "9780199232765"
	order.Lines[0].Quantity = 2
	placed := value(client.PlaceOrderWithResponse(ctx, "corner", order))
	check(placed.JSON201 != nil && placed.JSON201.Total == 2998 && placed.JSON201.Address.City == "Coventry", placed.Body)
	check(!placed.JSON201.PlacedAt.IsZero(), placed.Body)

	missing := value(client.GetOrderWithResponse(ctx, "corner", placed.JSON201.Id+1))
	check(missing.ApplicationproblemJSON404 != nil && missing.ApplicationproblemJSON404.Status == 404, missing.Body)
	invalid := value(client.GetOrderWithResponse(ctx, "corner", 0)).ApplicationproblemJSON422
	check(invalid != nil && value(invalid.Errors[0].Path[0].AsValidationIssuePath0()) == "id", invalid)
	stranger := value(bookshop.NewClientWithResponses(origin))
	refused := value(stranger.PlaceOrderWithResponse(ctx, "corner", order))
	check(refused.ApplicationproblemJSON401 != nil, refused.Body)
	stock := value(client.ListStockWithResponse(ctx, "corner"))
	check(bytes.Count(stock.Body, []byte("\n")) == 5, stock.Body)
}

func person() museum.Person {
	return museum.Person{Id: uuid.UUID{1}, Name: "Ada", Email: "ada@example.org", Born: &day}
}

func callExhibits(client *museum.ClientWithResponses) {
	exhibit := museum.NewExhibit{
		Name: "Coin", Kind: museum.NewExhibitKindCoin, Acquired: noon, Maker: person(), Weight: new(0.5),
		Insured: new("12345678901234567890"), Colour: &[]any{1, 2, 3}, Place: &[]any{0.5, 1},
	}
	exhibit.Size.Width = 1.5
	added := value(client.AddExhibitWithResponse(ctx, exhibit))
	check(added.JSON201 != nil, added.Body)
	check(added.JSON201.Acquired.Equal(noon), added.Body)
	check(added.JSON201.Maker.Born.Equal(day.Time) && added.JSON201.Shown && added.JSON201.Lender == nil, added.Body)
	got := value(client.GetExhibitWithResponse(ctx, added.JSON201.Id))
	check(got.JSON200 != nil && got.JSON200.Name == "Coin" && got.JSON200.Size.Width == 1.5, got.Body)
	all := value(client.ListExhibitsWithResponse(ctx, &museum.ListExhibitsParams{
		Kind: new(museum.ListExhibitsParamsKindCoin), Limit: new(int32(1)),
	}))
	check(all.JSON200 != nil && all.JSON200.Total == 1 && all.JSON200.Next == nil, all.Body)

	exhibit.Name = "taken"
	taken := value(client.AddExhibitWithResponse(ctx, exhibit))
	check(taken.ApplicationproblemJSON409 != nil && taken.ApplicationproblemJSON409.By == "Ada", taken.Body)
	check(value(client.RemoveExhibitWithResponse(ctx, added.JSON201.Id)).StatusCode() == 204, "not removed")
	gone := value(client.GetExhibitWithResponse(ctx, added.JSON201.Id))
	check(gone.ApplicationproblemJSON404 != nil && gone.ApplicationproblemJSON404.Status == 404, gone.Body)
}

func callModels(client *museum.ClientWithResponses) {
	inner := museum.Room{Name: "B", Rooms: []museum.Room{}, Curator: new(person())}
	room := value(client.EchoRoomWithResponse(ctx, museum.Room{Name: "A", Rooms: []museum.Room{inner}}))
	check(room.JSON200 != nil && room.JSON200.Rooms[0].Curator.Name == "Ada", room.Body)

	var happening museum.EchoHappeningJSONRequestBody
	must(happening.FromTour(museum.Tour{Kind: "tour", Guide: person(), At: noon}))
	echoed := value(client.EchoHappeningWithResponse(ctx, happening))
	check(echoed.JSON200 != nil, echoed.Body)
	check(value(echoed.JSON200.Discriminator()) == "tour", echoed.Body)

	converted := value(client.ConvertWithResponse(ctx, museum.Converted{Lower: "ABC", Count: "7.5", Length: "four"}))
	check(converted.JSON200 != nil && converted.JSON200.Lower == "abc" && converted.JSON200.Count == 7.5, converted.Body)
	staff := value(client.EchoStaffWithResponse(ctx, museum.EchoStaffJSONRequestBody{Number: 1, Name: "Ada"}))
	check(staff.JSON200 != nil && staff.JSON200.Staff.Number == 1 && staff.JSON200.Deputy == nil, staff.Body)
	counts := value(client.EchoCountsWithResponse(ctx, museum.EchoCountsJSONRequestBody{"a": 1}))
	check(counts.JSON200 != nil && (*counts.JSON200)["a"] == 1, counts.Body)
}

func callParameters(client *museum.ClientWithResponses) {
	path := value(client.EchoPathWithResponse(
		ctx, "a/b ä", 3, 0.5, "12345678901234567890", museum.EchoPathParamsKindCoin, uuid.UUID{2}, day,
	))
	check(path.JSON200 != nil && path.JSON200.Word == "a/b ä" && path.JSON200.Share == 0.5 && path.JSON200.Count == 3, path.Body)

	query := value(client.EchoQueryWithResponse(ctx, &museum.EchoQueryParams{
		Word: "word", Since: &noon, Day: &day, Words: &[]string{"a,b", "c"}, Counts: []int64{1, 2},
		Flag: new(true), From: new("here"),
	}))
	check(query.JSON200 != nil, query.Body)
	check(query.JSON200.Since.Equal(noon) && query.JSON200.Words[0] == "a,b" && query.JSON200.Counts[1] == 2, query.Body)
	check(value(query.JSON200.Either.AsEchoQueryResultEither1()) == "all" && *query.JSON200.From == "here", query.Body)
	invalid := value(client.EchoQueryWithResponse(ctx, &museum.EchoQueryParams{Word: "w", Counts: []int64{1}}))
	check(invalid.ApplicationproblemJSON422 != nil && len(invalid.ApplicationproblemJSON422.Errors) == 1, invalid.Body)

	headers := value(client.EchoHeadersWithResponse(ctx, &museum.EchoHeadersParams{
		XCount: 3, XWord: new("a"), Theme: new(museum.EchoHeadersParamsTheme("light")),
	}))
	check(headers.JSON200 != nil && headers.JSON200.Count == 3 && headers.JSON200.Theme == "light", headers.Body)
	rest := value(client.EchoRestWithResponse(ctx, "a/b"))
	check(rest.JSON200 != nil && rest.JSON200.Path == "a/b", rest.Body)
}

func callForms(client *museum.ClientWithResponses) {
	// It has a day as well, but the client's runtime loses dates of forms.
	ticket := museum.TicketInput{
		Name: "Ada", Email: "ada@example.org", Rooms: &[]string{"A", "B"}, Seats: &[]int64{1, 2},
	}
	ordered := value(client.OrderTicketWithFormdataBodyWithResponse(ctx, ticket))
	check(ordered.JSON202 != nil && ordered.JSON202.Rooms[1] == "B" && len(ordered.JSON202.Seats) == 2, ordered.Body)

	// The client leaves it to its users to write multipart forms.
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	must(form.WriteField("caption", "Ada"))
	must(form.WriteField("rights", `{"holder":"Grace"}`))
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", `form-data; name="cover"; filename="cover.png"`)
	header.Set("Content-Type", "image/png")
	value(value(form.CreatePart(header)).Write([]byte("123")))
	value(value(form.CreateFormFile("details", "a.txt")).Write([]byte("4")))
	must(form.Close())
	pictures := value(client.AddPicturesWithBodyWithResponse(ctx, form.FormDataContentType(), &body))
	check(pictures.JSON200 != nil && pictures.JSON200.Sizes[0] == 3 && pictures.JSON200.Sizes[1] == 1, pictures.Body)
}

func callStreams(client *museum.ClientWithResponses) {
	put := value(client.PutBytesWithBodyWithResponse(ctx, "application/octet-stream", bytes.NewReader([]byte{1, 2})))
	check(put.JSON200 != nil && put.JSON200.Size == 2, put.Body)
	check(bytes.Equal(value(client.GetBytesWithResponse(ctx)).Body, []byte{1, 2, 3}), "other bytes")
	lines := value(client.GetLinesWithResponse(ctx, &museum.GetLinesParams{Count: new(int32(3))}))
	check(bytes.Count(lines.Body, []byte("\n")) == 3, lines.Body)
	check(bytes.Equal(value(client.GetPictureWithResponse(ctx)).Body, []byte("\x89PNG")), "another picture")
}

func callAccounts(origin string) {
	ada := value(museum.NewClientWithResponses(origin, museum.WithRequestEditorFn(token("ada"))))
	signedIn := value(ada.GetBearerWithResponse(ctx))
	check(signedIn.JSON200 != nil && signedIn.JSON200.User == "ada", signedIn.Body)
	refused := value(ada.GetKeyedWithResponse(ctx))
	check(refused.ApplicationproblemJSON401 != nil, refused.Body)
}

func token(name string) func(context.Context, *http.Request) error {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+name)
		return nil
	}
}

// Appends an item whose type has no name.
func add[T any](items *[]T) *T {
	*items = append(*items, *new(T))
	return &(*items)[len(*items)-1]
}

func value[T any](value T, err error) T {
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(holds bool, got any) {
	if holds {
		return
	}
	if body, ok := got.([]byte); ok {
		panic("Unexpected: " + string(body))
	}
	text, _ := json.Marshal(got)
	panic("Unexpected: " + string(text))
}
