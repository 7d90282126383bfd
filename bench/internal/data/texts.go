package data

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Common is the category of many records, Rare that of one in a thousand.
const (
	Common = "Appliances"
	Rare   = "Marine"
)

// rareMaker makes one product in rareEvery.
const (
	rareMaker = "Zephyr"
	rareEvery = 20_011
)

var (
	categories = []string{Common, "Electronics", "Furniture", "Garden", "Photography", "Sports", "Tools", "Vehicles"}
	makers     = []string{"Alpen", "Borealis", "Caldera", "Dunmore", "Elbe", "Fjord", "Garnet", "Holm", "Isar", "Juniper"}
	products   = []string{"washing machine", "cordless drill", "espresso machine", "road bicycle", "camera body", "lawn mower",
		"office chair", "induction hob", "wall oven", "electric scooter", "noise-cancelling headphones", "heat pump"}
	suppliers = []string{"Nordwest Handel", "Berg und Sohn", "Ridgeway Wholesale", "Lumen Trade", "Harbour Supply"}
	terms     = []string{"Parts and labour are covered.", "Wear is not covered.", "The receipt has to be shown.",
		"Repairs are made in the maker's workshop.", "Cover moves with the product to its next owner.",
		"Damage by water is not covered.", "A loan machine is given during the repair."}
)

func category(rng *rand.Rand) string {
	if rng.IntN(1000) == 0 {
		return Rare
	}
	// The minimum of two random numbers makes the first categories the most common.
	return categories[min(rng.IntN(len(categories)), rng.IntN(len(categories)))]
}

// Texts are the texts of a record. Empty texts are optional fields without a value.
type Texts struct {
	Reference, Product, Description, Serial, Supplier, SellerName, SellerEmail string
}

// Texts generates the texts of a record.
func (r Record) Texts() Texts {
	rng := random(r.Number, 't')
	t := Texts{
		Reference: Reference(r.Number),
		Product:   fmt.Sprintf("%s %s %d", pick(rng, makers), pick(rng, products), 100+rng.IntN(900)),
		Serial:    fmt.Sprintf("%c%c%07d", 'A'+rune(rng.IntN(26)), 'A'+rune(rng.IntN(26)), rng.IntN(10_000_000)),
		Supplier:  pick(rng, suppliers),
	}
	if r.Number%rareEvery == 5 {
		t.Product = strings.Replace(t.Product, strings.Fields(t.Product)[0], rareMaker, 1)
	}
	if rng.IntN(10) < 6 {
		t.Description = strings.Join([]string{pick(rng, terms), pick(rng, terms), pick(rng, terms)}, " ")
	}
	if r.Seller != NoSeller {
		t.SellerName, t.SellerEmail = Name(r.Seller), Email(r.Seller)
	}
	return t
}

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }
