package warranty

import "time"

// Limits of passkeys.
const (
	MaxPasskeys    = 20 // of a person
	MaxPasskeyName = 60 // characters
)

// AccountPasskey is a passkey as its person sees it.
type AccountPasskey struct {
	ID         ID         `json:"id" doc:"Identifier of the passkey."`
	Name       string     `json:"name" doc:"What you call it, such as the name of the device."`
	Synced     bool       `json:"synced" doc:"Whether your devices share it. Otherwise it is on one device only."`
	CreatedAt  time.Time  `json:"created_at" doc:"When you added it."`
	LastUsedAt *time.Time `json:"last_used_at" doc:"When it was last used, if it was."`
}

// AccountPasskeys is the response of passkeys.list.
type AccountPasskeys struct {
	Passkeys []AccountPasskey `json:"passkeys" doc:"The passkeys, the oldest first."`
}

// ListPasskeys is the input of passkeys.list.
type ListPasskeys struct{}

// RenamePasskey is the input of passkeys.rename.
type RenamePasskey struct {
	ID   ID     `json:"id" in:"path" required:"true" doc:"Identifier of the passkey."`
	Name string `json:"name,omitzero" required:"true" max:"60" doc:"The new name." example:"iPhone"`
}

// Check validates the input.
func (in *RenamePasskey) Check() error {
	var c Checks
	in.Name = c.text("name", in.Name, 1, MaxPasskeyName)
	return c.Err()
}

// RemovePasskey is the input of passkeys.remove.
type RemovePasskey struct {
	ID ID `json:"id" in:"path" required:"true" doc:"Identifier of the passkey."`
}

// AddPasskey is what the page sends that adds a passkey. Only browsers can: it is not an operation of the API.
type AddPasskey struct {
	Answer    string // of the browser, in JSON
	Handle    string // of the person, as the page had it
	Name      string
	EndOthers bool // ends all other sessions
}

// Check validates the input.
func (in *AddPasskey) Check() error {
	var c Checks
	in.Name = c.text("name", in.Name, 1, MaxPasskeyName)
	return c.Err()
}
