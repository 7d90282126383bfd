package rest_test

import "warranty.example/svc/internal/servertest"

// Short names for the helpers of servertest.
type (
	answer       = servertest.Answer
	fields       = servertest.Fields
	request      = servertest.Request
	stoppedClock = servertest.StoppedClock
	world        = servertest.World
)

const (
	passwordCanary = servertest.PasswordCanary
	tokens         = servertest.TokensPath
	unknownID      = servertest.UnknownID
)

var (
	anonymised   = servertest.Anonymised
	apiHeaders   = servertest.APIHeaders
	busy         = servertest.Busy
	document     = servertest.DocumentForm
	each         = servertest.EachAtTheDoor
	eachReplicas = servertest.EachReplicas
	eachStopped  = servertest.EachStopped
	equal        = servertest.Equal
	ids          = servertest.IDs
	lock         = servertest.Lock
	made         = servertest.NewRequest
	newSecret    = servertest.NewSecret
	newWorld     = servertest.New
	newest       = servertest.Newest
	pdf          = servertest.PDF
	problemOf    = servertest.ProblemOf
	refused      = servertest.Refused
	want         = servertest.Want
	wrongFields  = servertest.WrongFields
)
