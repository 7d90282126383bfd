package warranty

import "time"

// TrashLifetime is how long a deleted warranty can be restored.
const TrashLifetime = 30 * 24 * time.Hour

// Trashed is a warranty in the trash of the account that owned it.
type Trashed struct {
	ID              ID        `json:"id" doc:"Identifier of the warranty."`
	ReferenceNumber Reference `json:"reference_number" doc:"Reference number of the warranty."`
	ProductName     string    `json:"product_name" doc:"Name of the product."`
	SerialNumber    *string   `json:"serial_number" doc:"Serial number of the product."`
	Category        *string   `json:"category" doc:"Category of the product."`
	StartDate       Date      `json:"start_date" doc:"First day of coverage."`
	EndDate         Date      `json:"end_date" doc:"Last day of coverage. 9999-12-31 means lifetime."`
	DeletedAt       time.Time `json:"deleted_at" doc:"When the warranty was deleted."`
	ErasedAt        time.Time `json:"erased_at" doc:"When the warranty will be erased. Until then, you can restore it."`
}

// ListTrash is the input of trash.list.
type ListTrash struct {
	Paging
}

// Check validates the input.
func (in *ListTrash) Check() error {
	var c Checks
	in.Paging.Check(&c)
	return c.Err()
}

// RestoreWarranty is the input of warranties.restore.
type RestoreWarranty struct {
	ID WarrantyKey `json:"id" in:"path" required:"true" doc:"ID or reference number of the warranty."`
}
