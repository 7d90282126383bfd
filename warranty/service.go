package warranty

// MaxServiceName is the length of the name of a service, in characters.
const MaxServiceName = 40

// CheckServiceName validates the name of a service that an administrator chose. It is in front of its pages and emails;
// empty means the name of the program.
func (c *Checks) CheckServiceName(field, value string) string {
	if value == "" {
		return ""
	}
	return c.displayName(field, value, MaxServiceName)
}
