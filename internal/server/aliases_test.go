package server_test

import "warranty.example/svc/internal/servertest"

// Short names for the helpers of servertest.
type (
	answer       = servertest.Answer
	fields       = servertest.Fields
	option       = servertest.Option
	page         = servertest.Page
	request      = servertest.Request
	stoppedClock = servertest.StoppedClock
	token        = servertest.IntegrationToken
	world        = servertest.World
)

const (
	boundary       = servertest.FormBoundary
	passwordCanary = servertest.PasswordCanary
	tokens         = servertest.TokensPath
	unknownID      = servertest.UnknownID
)

var (
	apiHeaders  = servertest.APIHeaders
	behindProxy = servertest.BehindProxy
	busy        = servertest.Busy
	databases   = servertest.Databases
	each        = servertest.Each
	eachStopped = servertest.EachStopped
	equal       = servertest.Equal
	field       = servertest.Field
	file        = servertest.File
	form        = servertest.Form
	lock        = servertest.Lock
	made        = servertest.NewRequest
	newSecret   = servertest.NewSecret
	newWorld    = servertest.New
	number      = servertest.Number
	outcome     = servertest.Outcome
	problemOf   = servertest.ProblemOf
	refused     = servertest.Refused
	want        = servertest.Want
	webWorld    = servertest.NewSQLite
)
