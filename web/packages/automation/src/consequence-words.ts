/**
 * What buttons are called whose press cannot be taken back: it pays, orders, sends, publishes or deletes. In small
 * letters without accents; what has several words counts where they stand together.
 */

// biome-ignore format: a table
export const WORDS: readonly string[] = [
  "pay", "buy", "purchase", "delete", "erase", "destroy", "send", "submit order", "place order", "place your order",
  "place my order", "wire money", "wire transfer", "wire funds",
  "place bid", "confirm order", "complete order", "order now", "confirm purchase", "complete purchase", "confirm payment",
  "complete payment", "complete checkout", "confirm and pay", "book now", "confirm booking", "reserve now", "subscribe",
  "unsubscribe", "donate", "transfer", "withdraw", "publish", "post now", "post comment", "post reply", "tweet",
  "close account", "remove account", "deactivate account", "cancel order", "cancel subscription", "cancel booking",
  "cancel membership", "permanently", "empty trash", "approve", "merge pull request", "deploy",
  "bezahlen", "zahlen", "zahlungspflichtig", "kaufen", "bestellen", "loschen", "loeschen", "senden", "absenden",
  "abschicken", "verschicken", "versenden", "uberweisen", "ueberweisen", "buchen", "abonnieren", "kundigen", "kuendigen",
  "spenden", "veroffentlichen", "veroeffentlichen", "stornieren", "kauf abschließen", "bestellung abschließen",
  "beauftragen", "genehmigen",
  "payer", "acheter", "commander", "passer commande", "passer la commande", "confirmer la commande",
  "valider la commande", "valider le paiement", "envoyer", "expedier", "supprimer", "effacer", "reserver", "s abonner",
  "desabonner", "resilier", "publier", "faire un don",
  "pagar", "comprar", "enviar", "mandar", "eliminar", "borrar", "suprimir", "reservar", "suscribirse", "darse de baja",
  "publicar", "transferir", "donar", "realizar pedido", "hacer pedido", "confirmar pedido", "tramitar pedido",
  "paga", "pagare", "acquista", "compra", "ordina", "invia", "spedisci", "elimina", "cancella", "prenota", "abbonati",
  "disdici", "pubblica", "trasferisci", "dona", "conferma ordine", "conferma acquisto",
  "excluir", "apagar", "deletar", "assinar", "doar", "encomendar", "finalizar compra", "finalizar pedido", "fazer pedido",
  "betalen", "betaal", "kopen", "koop", "bestel", "verzenden", "verzend", "verstuur", "versturen", "verwijderen",
  "verwijder", "boeken", "opzeggen", "doneren", "publiceren", "overmaken",
  "zapłac", "zaplac", "kup", "zamow", "zamawiam", "wyslij", "usun", "skasuj", "zarezerwuj", "opublikuj", "przelej",
  "betala", "kop", "skicka", "ta bort", "radera", "bestall", "boka", "betal", "køb", "kjøp", "slet", "slett", "bestil",
  "bestill", "maksa", "osta", "laheta", "poista", "tilaa", "varaa",
  "zaplatit", "koupit", "kupit", "odeslat", "odoslat", "smazat", "vymazat", "objednat", "megveszem", "megrendelem",
  "megrendeles", "elkuldes", "kuldes", "torles", "fizetes", "plateste", "cumpara", "trimite", "sterge", "comanda",
  "ode", "satın al", "satin al", "gonder", "sil", "siparis ver",
  "оплатить", "купить", "заказать", "оформить заказ", "отправить", "удалить", "опубликовать", "перевести",
  "забронировать", "подписаться", "сплатити", "купити", "замовити", "надіслати", "відправити", "видалити",
  "πληρωμη", "αγορα", "αποστολη", "διαγραφη", "παραγγελια",
  "שלם", "לתשלום", "קנה", "שלח", "מחק", "הזמן", "ادفع", "شراء", "اشتر", "ارسال", "حذف", "اطلب",
  "भुगतान करें", "खरीदें", "भेजें", "हटाएं", "thanh toan", "mua ngay", "gui", "xoa", "dat hang",
  "bayar", "beli", "kirim", "hapus", "pesan sekarang",
];

/** These count only where nothing else is said: with more words they mean other things. */
// biome-ignore format: a table
export const ALONE: readonly string[] = ["order", "post", "book", "reserve", "sell", "donation", "merge", "empty"];

/** Where nothing parts the words: they count wherever they stand. */
// biome-ignore format: a table
export const SIGNS: readonly string[] = [
  "支払", "購入", "注文する", "注文を確定", "送信", "削除", "予約する", "支付", "付款", "购买", "購買", "下单", "下單", "提交订单",
  "提交訂單", "发送", "發送", "送出", "删除", "刪除", "发布", "發布", "转账", "轉帳", "결제", "구매", "주문하기", "보내기", "전송", "삭제",
  "송금", "ชำระเงิน", "ซื้อ", "สั่งซื้อ", "ส่งข้อความ", "ลบ",
];

/** What a button says that leaves it to its form or its dialog to say what it does. */
// biome-ignore format: a table
export const GENERIC: readonly string[] = [
  "submit", "ok", "okay", "yes", "confirm", "continue", "proceed", "go", "done", "finish", "apply", "accept", "agree",
  "next", "ja", "bestatigen", "bestaetigen", "weiter", "fortfahren", "fertig", "abschließen", "einverstanden", "oui",
  "valider", "confirmer", "continuer", "suivant", "terminer", "si", "confirmar", "continuar", "aceptar", "siguiente",
  "finalizar", "conferma", "continua", "accetta", "avanti", "procedi", "sim", "aceitar", "concluir", "bevestigen",
  "doorgaan", "akkoord", "tak", "potwierdz", "dalej", "bekrafta", "fortsatt", "bekræft", "bekreft", "vahvista", "да",
  "подтвердить", "продолжить", "evet", "onayla", "devam", "確認", "はい", "确认", "確認", "确定", "是", "확인", "예", "תאישור", "تاكيد",
];
