package service_test

import "warranty.example/svc/internal/servertest"

// Short names for the helpers of servertest.
type (
	answer       = servertest.Answer
	asked        = servertest.RecordedRequest
	page         = servertest.Page
	part         = servertest.Part
	stoppedClock = servertest.StoppedClock
	token        = servertest.IntegrationToken
	uploaded     = servertest.Uploaded
)

const (
	boundary       = servertest.FormBoundary
	incident       = servertest.Incident
	passwordCanary = servertest.PasswordCanary
	tokens         = servertest.TokensPath
	unknownID      = servertest.UnknownID
)

var (
	anonymised  = servertest.Anonymised
	behindProxy = servertest.BehindProxy
	busy        = servertest.Busy
	claimOn     = servertest.ClaimOn
	databases   = servertest.Databases
	document    = servertest.DocumentForm
	equal       = servertest.Equal
	field       = servertest.Field
	file        = servertest.File
	form        = servertest.Form
	ids         = servertest.IDs
	jpeg        = servertest.JPEG
	made        = servertest.NewRequest
	newest      = servertest.Newest
	number      = servertest.Number
	outcome     = servertest.Outcome
	pdf         = servertest.PDF
	png         = servertest.PNG
	problemOf   = servertest.ProblemOf
	refused     = servertest.Refused
	text        = servertest.Text
	uploading   = servertest.UploadRequest
	want        = servertest.Want
	webp        = servertest.WebP
	wrongFields = servertest.WrongFields
)
