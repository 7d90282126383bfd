package service

import "warranty.example/svc/warranty"

var errUnconfirmed = warranty.Refuse(warranty.ConfirmationRequired, "Confirm that it is you, then try again.")

// requireConfirmed refuses a session whose person did not prove recently who they are.
func (s *Service) requireConfirmed(p warranty.Principal) error {
	if p.Credential != warranty.BySession || !s.now().Before(p.ConfirmedAt.Add(warranty.ConfirmationLifetime)) {
		return errUnconfirmed
	}
	return nil
}
