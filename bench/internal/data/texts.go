package data

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Common is a category that many records have, Rare one that one in a thousand has.
const (
	Common = "Appliances"
	Rare   = "Marine"
)

var (
	categories = []string{Common, "Electronics", "Furniture", "Garden", "Photography", "Sports", "Tools", "Vehicles"}
	makers     = []string{"Alpen", "Borealis", "Caldera", "Dunmore", "Elbe", "Fjord", "Garnet", "Holm", "Isar", "Juniper"}
	products   = []string{"washing machine", "cordless drill", "espresso machine", "road bicycle", "camera body", "lawn mower",
		"office chair", "induction hob", "wall oven", "electric scooter", "noise-cancelling headphones", "heat pump"}
	suppliers = []string{"Nordwest Handel", "Berg und Sohn", "Ridgeway Wholesale", "Lumen Trade", "Harbour Supply"}
	terms     = []string{"Parts and labour are covered.", "Wear is not covered.", "The receipt has to be shown.",
		"Repairs are made in the maker's workshop.", "Cover moves with the product to its next owner.", "Damage by water is not covered.",
		"A loan machine is given during the repair."}
)

func category(dice *rand.Rand) string {
	if dice.IntN(1000) == 0 {
		return Rare
	}
	// The lower of two makes the first ones the most common.
	return categories[min(dice.IntN(len(categories)), dice.IntN(len(categories)))]
}

// Texts are the words of a record. Those that are empty were not given.
type Texts struct {
	Reference, Product, Description, Serial, Supplier, SellerName, SellerEmail string
}

// Texts are the record's words.
func (r Record) Texts() Texts {
	dice := dice(r.Number, 't')
	t := Texts{
		Reference: Reference(r.Number),
		Product:   fmt.Sprintf("%s %s %d", pick(dice, makers), pick(dice, products), 100+dice.IntN(900)),
		Serial:    fmt.Sprintf("%c%c%07d", 'A'+rune(dice.IntN(26)), 'A'+rune(dice.IntN(26)), dice.IntN(10_000_000)),
		Supplier:  pick(dice, suppliers),
	}
	if dice.IntN(10) < 6 {
		t.Description = strings.Join([]string{pick(dice, terms), pick(dice, terms), pick(dice, terms)}, " ")
	}
	if r.Seller != NoSeller {
		t.SellerName, t.SellerEmail = Name(r.Seller), Email(r.Seller)
	}
	return t
}

func pick(dice *rand.Rand, from []string) string { return from[dice.IntN(len(from))] }
