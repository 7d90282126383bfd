package api

import "slices"

// Operations lists every operation, in the order of the documentation.
func Operations() []*Spec {
	return slices.Concat(
		warrantyOperations,
		claimOperations,
		bulkOperations,
		documentOperations,
		transferOperations,
		sellerOperations,
		handoverOperations,
		printedCodeOperations,
		trashOperations,
		historyOperations,
		authStatusOperations,
		tokenOperations,
		accountOperations,
		holderOperations,
		passkeyOperations,
		securityOperations,
		organizationOperations,
		domainOperations,
		brandOperations,
		customerOperations,
		productOperations,
		replyOperations,
		reminderOperations,
	)
}
