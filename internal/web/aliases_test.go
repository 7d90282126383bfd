package web_test

import "warranty.example/svc/internal/servertest"

// Short names for the helpers of servertest.
type (
	browser = servertest.Browser
	fields  = servertest.Fields
	page    = servertest.Page
	part    = servertest.Part
	request = servertest.Request
	token   = servertest.IntegrationToken
	world   = servertest.World
)

const (
	boundary       = servertest.FormBoundary
	passwordCanary = servertest.PasswordCanary
	tokens         = servertest.TokensPath
	unknownID      = servertest.UnknownID
)

var (
	attr      = servertest.Attr
	busy      = servertest.Busy
	document  = servertest.DocumentForm
	each      = servertest.Each
	equal     = servertest.Equal
	field     = servertest.Field
	file      = servertest.File
	form      = servertest.Form
	lock      = servertest.Lock
	made      = servertest.NewRequest
	newSecret = servertest.NewSecret
	pdf       = servertest.PDF
	refused   = servertest.Refused
	text      = servertest.Text
	textOf    = servertest.TextOf
	webWorld  = servertest.NewSQLite
	within    = servertest.Within
)
