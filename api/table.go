package api

// Operations lists every operation, in the order of the documentation.
func Operations() []*Spec {
	return []*Spec{
		ListWarranties.Spec, CreateWarranty.Spec, GetWarranty.Spec, UpdateWarranty.Spec, DeleteWarranty.Spec,
		LookupWarranties.Spec, VerifyWarranty.Spec,
		ListClaims.Spec, GetClaim.Spec, FileClaim.Spec, MoveClaim.Spec,
		ListDocuments.Spec, GetDocument.Spec, DeleteDocument.Spec,
		OfferTransfer.Spec, CancelTransfer.Spec, AcceptTransfer.Spec, ListHistory.Spec,
		GetAuthStatus.Spec,
		CreateToken.Spec, ListTokens.Spec, GetToken.Spec, RotateToken.Spec, RevokeToken.Spec,
		ListTokenHistory.Spec, ListTokenRequests.Spec,
		Register.Spec, SignIn.Spec, RequestSignInCode.Spec, SignOut.Spec, VerifyEmail.Spec, SendVerification.Spec,
		RequestPasswordReset.Spec, ResetPassword.Spec, ChangePassword.Spec, GetAccount.Spec, UpdateAccount.Spec,
	}
}
