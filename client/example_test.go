package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"warranty.example/svc/client"
	"warranty.example/svc/warranty"
)

func Example() {
	ctx := context.Background()
	c, err := client.New(client.DefaultBaseURL, os.Getenv("SVC_API_KEY"), client.WithUserAgent("erp/2.1"))
	if err != nil {
		log.Fatal(err)
	}
	order := "order-4711" // repeated requests with this key create one record
	made, err := c.CreateWarranty(ctx, warranty.CreateWarranty{
		ProductName:    "Kettle",
		StartDate:      warranty.NewDate(2026, 3, 1),
		EndDate:        warranty.NewDate(2028, 2, 29),
		IdempotencyKey: &order,
	})
	var refused *client.Error
	var network *client.NetworkError
	switch {
	case errors.As(err, &refused) && refused.Code == warranty.ValidationFailed:
		log.Fatal(refused.Errors)
	case errors.As(err, &network):
		log.Fatal("try again later: ", network)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(made.ReferenceNumber)
}
