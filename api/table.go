package api

// Operations lists every operation in the order in which documents show them.
func Operations() []*Spec {
	return []*Spec{
		ListWarranties.Spec, CreateWarranty.Spec, GetWarranty.Spec, UpdateWarranty.Spec, DeleteWarranty.Spec,
		VerifyWarranty.Spec,
		ListClaims.Spec, GetClaim.Spec,
		ListDocuments.Spec, GetDocument.Spec,
		GetAuthStatus.Spec,
		CreateToken.Spec, ListTokens.Spec, GetToken.Spec, RotateToken.Spec, RevokeToken.Spec,
		Register.Spec, SignIn.Spec, SignOut.Spec, VerifyEmail.Spec, SendVerification.Spec,
		RequestPasswordReset.Spec, ResetPassword.Spec, ChangePassword.Spec,
	}
}
